"""The numbering of documents that clusters and verdicts rest on."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gristmill.stages.dedup.records import Numbering, by_piece
from gristmill.types import StageReport

SIZES = st.lists(st.integers(0, 5), min_size=1, max_size=8)


@given(SIZES, st.randoms(use_true_random=False))
def test_numbers_go_by_rank_and_row_and_back(sizes: list[int], draw) -> None:  # type: ignore[no-untyped-def]
    """A number that leads to another document drops that one; empty pieces share their first number with the next."""
    ranks = list(range(len(sizes)))
    draw.shuffle(ranks)
    reports = [StageReport(stage="sign", shard=0, fingerprint="", docs_in=size, docs_out=size) for size in sizes]
    numbering = Numbering(ranks, reports)
    every = sorted(rank << 32 | row for rank, size in zip(ranks, sizes, strict=True) for row in range(size))
    nodes = np.array(every, np.uint64)
    assert len(numbering) == len(every)
    assert numbering.of(nodes).tolist() == list(range(len(every)))
    assert numbering.nodes(np.arange(len(every))).tolist() == every
    for rank, size in zip(ranks, sizes, strict=True):
        numbers = range(len(every))[numbering.piece(rank)]
        assert [every[number] for number in numbers] == [rank << 32 | row for row in range(size)]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9))))
def test_positions_by_piece_cover_every_node_once(places: list[tuple[int, int]]) -> None:
    """Signature rows are fetched piece by piece: one that is fetched for no piece would be compared as garbage."""
    nodes = np.array([rank << 32 | row for rank, row in places], np.uint64)
    found = [(rank, position) for rank, positions in by_piece(nodes) for position in positions.tolist()]
    assert sorted(position for _, position in found) == list(range(len(nodes)))
    assert all(places[position][0] == rank for rank, position in found)
    assert [rank for rank, _ in by_piece(nodes)] == sorted({rank for rank, _ in places})
