"""Counts of a token file taken from its bytes, against a count one id at a time."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from gristmill.stages.output.recount import BLOCK_BYTES, Recount, block_digests, recount
from gristmill.types import Boundary

EOT = 7
IDS = st.lists(st.sampled_from([0, 1, 5, EOT, EOT, 9]), max_size=30)
CUTS = st.lists(st.integers(0, 30), max_size=5)


def in_blocks(ids: list[int], cuts: list[int], dtype: str = "<u2") -> list[np.ndarray]:
    """The ids in one to six blocks, some of them empty."""
    edges = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
    return [np.array(ids[a:b], dtype) for a, b in pairwise(edges)]


def starts(ids: list[int], side: str) -> dict[int, int]:
    """Where a document starts, and how many started before it."""
    if side == "prepend":
        places = [place for place, token in enumerate(ids) if token == EOT]
    else:
        places = [place for place in range(len(ids)) if place == 0 or ids[place - 1] == EOT]
    return {place: number for number, place in enumerate(places)}


@given(IDS, CUTS, st.sampled_from(["append", "prepend"]), st.lists(st.tuples(st.integers(0, 35), st.integers(0, 6))))
def test_counts_and_boundaries_are_those_of_a_slow_count(
    ids: list[int], cuts: list[int], side: str, given_boundaries: list[tuple[int, int]]
) -> None:
    """A recount that depends on where blocks end, or passes a wrong boundary, proves nothing about the bytes."""
    places = starts(ids, side)
    right = {(place, number) for place, number in places.items() if place % 2 == 0}
    at_block_edges = {(cut, ids[:cut].count(EOT)) for cut in cuts}
    marks = sorted({*given_boundaries, *right, *at_block_edges})
    boundaries = [Boundary(token=token, document=document) for token, document in marks]
    found = recount(iter(in_blocks(ids, cuts)), eot_id=EOT, eot_side=side, boundaries=boundaries)
    wrong = [number for number, (token, document) in enumerate(marks) if places.get(token) != document]
    assert sorted(found.boundaries_wrong) == wrong
    assert (found.tokens, found.eos, found.max_id) == (len(ids), ids.count(EOT), max(ids, default=-1))


@given(IDS, CUTS, st.sampled_from([EOT, None]))
def test_without_an_eot_side_ids_are_counted_and_boundaries_left_alone(
    ids: list[int], cuts: list[int], eot: int | None
) -> None:
    """The Shakespeare files have no end-of-text ids; nothing there can say where a document starts."""
    boundaries = [Boundary(token=3, document=1), Boundary(token=len(ids), document=0)]
    boundaries.sort(key=lambda boundary: boundary.token)
    found = recount(iter(in_blocks(ids, cuts)), eot_id=eot, eot_side="none", boundaries=boundaries)
    assert (found.tokens, found.eos) == (len(ids), ids.count(EOT) if eot else 0)
    assert found.boundaries_wrong == [n for n, boundary in enumerate(boundaries) if boundary.token >= len(ids)]


@pytest.mark.parametrize("dtype", ["<u2", "<u4", "<i4"])
def test_an_eot_that_the_ids_cannot_hold_is_never_found(dtype: str) -> None:
    """Id 65,543 in uint16 is 7: a comparison that wrapped would find end-of-text ids that are not there."""
    blocks = iter(in_blocks([EOT, 1, EOT], [], dtype))
    found = recount(blocks, eot_id=65536 + EOT, eot_side="append", boundaries=[])
    assert found == Recount(tokens=3, eos=0, max_id=EOT, boundaries_wrong=[])


def test_the_highest_id_is_exact() -> None:
    found = recount(iter([np.array([1, 2**32 - 1, 5], "<u4")]), eot_id=5, eot_side="append", boundaries=[])
    assert (found.max_id, found.eos) == (2**32 - 1, 1)


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES + 5])
def test_a_digest_for_every_block(tmp_path: Path, size: int) -> None:
    """The block that differs is how a damaged file is located; a missing last one would hide its tail."""
    data = np.random.default_rng(size).bytes(size)
    (tmp_path / "x").write_bytes(data)
    wanted = [xxhash.xxh3_64_hexdigest(data[low : low + BLOCK_BYTES]) for low in range(0, size, BLOCK_BYTES)]
    assert block_digests(tmp_path / "x") == wanted
