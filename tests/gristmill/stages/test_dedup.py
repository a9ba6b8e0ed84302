"""The exchange that finds copies over all pieces, against slow references."""

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.stages._components import flatten, hang, join
from gristmill.stages._pairs import ALL_PAIRS, groups, pairs_within, with_first, within_groups

EDGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60)


def components(nodes: np.ndarray, edges: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """For each of the sorted nodes the index of the smallest one connected with it."""
    parents = np.arange(len(nodes))
    for first, second in edges:
        join(parents, np.searchsorted(nodes, first), np.searchsorted(nodes, second))
    flatten(parents)
    return parents


def slow_components(nodes: list[int], edges: list[tuple[int, int]]) -> list[int]:
    smallest = {node: node for node in nodes}
    for _ in nodes:
        for first, second in edges:
            smallest[first] = smallest[second] = min(smallest[first], smallest[second])
    return [nodes.index(smallest[node]) for node in nodes]


@given(EDGES, st.integers(1, 60))
def test_every_node_gets_the_smallest_that_it_is_connected_with(edges: list[tuple[int, int]], size: int) -> None:
    """A chain of copies that is cut in two keeps two copies; the order in which edges come must not matter."""
    nodes = sorted(set(itertools.chain(*edges)))
    chunks = [
        (np.array([a for a, _ in part], np.uint64), np.array([b for _, b in part], np.uint64))
        for part in (edges[start : start + size] for start in range(0, len(edges), size))
    ]
    found = components(np.array(nodes, np.uint64), iter(chunks)).tolist()
    assert found == slow_components(nodes, edges)


def test_a_long_chain_of_copies_is_one_cluster() -> None:
    """Labels that move one step a round would take as many rounds as the chain is long."""
    nodes = np.arange(200_000, dtype=np.uint64)
    labels = components(nodes, [(nodes[:-1], nodes[1:])])
    assert not labels.any()


def compared(keys: list[int]) -> list[tuple[int, int]]:
    """The pairs of documents, in their order, that are compared for having one of these keys in common."""
    order = np.argsort(np.array(keys, np.uint64), kind="stable")
    starts, sizes = groups(np.array(keys, np.uint64)[order])
    found = [order[np.stack(part, axis=1)] for part in within_groups(starts, sizes)]
    assert sum(map(len, found)) == pairs_within(sizes).sum()
    return [(first, second) for part in found for first, second in part.tolist()]


@given(st.lists(st.integers(0, 8), max_size=60))
def test_small_groups_give_every_pair_once(keys: list[int]) -> None:
    """A pair that is never compared is a copy that stays."""
    wanted = [pair for pair in itertools.combinations(range(len(keys)), 2) if keys[pair[0]] == keys[pair[1]]]
    if max([keys.count(key) for key in keys], default=0) <= ALL_PAIRS:
        assert sorted(compared(keys)) == wanted


@pytest.mark.parametrize("size", [ALL_PAIRS + 1, 5000])
def test_a_page_that_is_everywhere_does_not_cost_the_square_of_its_copies(size: int) -> None:
    """A million copies of a page would be compared with each other until the disk is full."""
    pairs = compared([0] * size)
    head = set(itertools.combinations(range(ALL_PAIRS), 2))
    tail = {pair for later in range(ALL_PAIRS, size) for pair in ((0, later), (later - 1, later))}
    assert len(pairs) == len(head | tail)
    assert set(pairs) == head | tail


KEYS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=3 * ALL_PAIRS)


def forest(documents: list[tuple[int, ...]]) -> list[int]:
    """The document that each one leads to, itself where it stays; equal keys in one place make a pair."""
    parents = np.arange(len(documents), dtype=np.uint32)
    for keys in zip(*documents, strict=True):
        pairs = np.array(compared(list(keys)), np.int64).reshape(-1, 2)
        hang(parents, pairs[:, 0], pairs[:, 1])
    flatten(parents)
    return parents.tolist()


@given(KEYS, st.data())
def test_what_follows_changes_no_verdict(documents: list[tuple[int, ...]], data: st.DataObject) -> None:
    """A document that is published one night and a copy the next: three nights would not make what one run makes."""
    part = data.draw(st.integers(0, len(documents)))
    assert forest(documents)[:part] == forest(documents[:part])


@given(KEYS)
def test_what_repeats_something_earlier_goes_and_leads_to_what_stays(documents: list[tuple[int, ...]]) -> None:
    """The ledger would name as kept a document that went itself."""
    leads = forest(documents)
    pairs = {pair for keys in zip(*documents, strict=True) for pair in compared(list(keys))}
    assert {place for place, leader in enumerate(leads) if leader != place} == {later for _, later in pairs}
    assert all(leads[leader] == leader for leader in leads)


def test_a_late_document_that_joins_two_takes_neither_away() -> None:
    """Both were published already when it came."""
    parents = np.arange(3)
    hang(parents, np.array([1, 0]), np.array([2, 2]))
    flatten(parents)
    assert parents.tolist() == [0, 1, 0]


@given(st.lists(st.integers(0, 8), max_size=60))
def test_equal_documents_are_compared_with_their_first(keys: list[int]) -> None:
    keys.sort()
    first, second = with_first(*groups(np.array(keys, np.uint64)))
    assert second.tolist() == [number for number, key in enumerate(keys) if keys.index(key) < number]
    assert first.tolist() == [keys.index(keys[number]) for number in second]
