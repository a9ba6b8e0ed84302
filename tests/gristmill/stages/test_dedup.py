"""The exchange that finds copies over all pieces, against slow references."""

import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.stages._components import flatten, join
from gristmill.stages._pairs import ALL_PAIRS, groups, with_first, within_groups

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


@given(st.lists(st.integers(0, 8), max_size=60))
def test_small_groups_give_every_pair_once(keys: list[int]) -> None:
    """A pair that is never compared is a copy that stays."""
    keys.sort()
    starts, sizes = groups(np.array(keys, np.uint64))
    found = [pair for first, second in within_groups(starts, sizes) for pair in zip(first, second, strict=True)]
    wanted = [pair for pair in itertools.combinations(range(len(keys)), 2) if keys[pair[0]] == keys[pair[1]]]
    if max([keys.count(key) for key in keys], default=0) <= ALL_PAIRS:
        assert sorted(found) == wanted


@pytest.mark.parametrize("size", [ALL_PAIRS + 1, 5000])
def test_a_page_that_is_everywhere_does_not_cost_the_square_of_its_copies(size: int) -> None:
    starts, sizes = groups(np.zeros(size, np.uint64))
    pairs = np.concatenate([np.stack(part, axis=1) for part in within_groups(starts, sizes)])
    assert len(pairs) == 2 * (size - 1)
    assert {(0, number) for number in range(1, size)} | {(number - 1, number) for number in range(1, size)} == set(
        map(tuple, pairs.tolist())
    )


@given(st.lists(st.integers(0, 8), max_size=60))
def test_equal_documents_are_compared_with_their_first(keys: list[int]) -> None:
    keys.sort()
    first, second = with_first(*groups(np.array(keys, np.uint64)))
    assert second.tolist() == [number for number, key in enumerate(keys) if keys.index(key) < number]
    assert first.tolist() == [keys.index(keys[number]) for number in second]
