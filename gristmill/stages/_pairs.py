"""Candidate pairs from equal keys."""

from collections.abc import Iterator

import numpy as np

ALL_PAIRS = 32
"""The first so many of a group are compared pair by pair, every later one with the first and with the one before it: a
page that is everywhere would otherwise cost the square of its copies. What a document is compared with depends on
nothing that comes after it."""


def groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and sizes of the runs of equal keys that have two members or more, in a sorted array."""
    edges = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1], [True]])) if len(keys) else np.zeros(1, int)
    sizes = np.diff(edges)
    many = sizes > 1
    return edges[:-1][many], sizes[many]


def with_first(starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of every member but the first, each with the position of the first of its run."""
    others = sizes - 1
    first = np.repeat(starts, others)
    within = np.arange(len(first)) - np.repeat(np.cumsum(others) - others, others)
    return first, first + 1 + within


def within_groups(starts: np.ndarray, sizes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of positions ``(earlier, later)`` within runs: all of the first ``ALL_PAIRS`` members, then a star and a
    chain."""
    heads = np.minimum(sizes, ALL_PAIRS)
    for size in np.unique(heads).tolist():
        earlier, later = np.triu_indices(size, 1)
        begin = starts[heads == size][:, None]
        yield (begin + earlier).ravel(), (begin + later).ravel()
    large = sizes > ALL_PAIRS
    first, later = with_first(starts[large], sizes[large])
    further = later - first >= ALL_PAIRS
    yield first[further], later[further]
    yield later[further] - 1, later[further]


def pairs_within(sizes: np.ndarray) -> np.ndarray:
    """How many pairs ``within_groups`` gives for groups of these sizes."""
    heads = np.minimum(sizes, ALL_PAIRS)
    counts: np.ndarray = heads * (heads - 1) // 2 + 2 * (sizes - heads)
    return counts


def portions(starts: np.ndarray, sizes: np.ndarray, pairs: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The groups in portions of at most so many pairs within them, or one group."""
    costs = np.cumsum(pairs_within(sizes))
    first = 0
    while first < len(starts):
        before = int(costs[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(costs, before + pairs, "right")))
        yield starts[first:last], sizes[first:last]
        first = last
