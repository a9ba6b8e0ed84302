"""Candidate pairs from equal keys."""

from collections.abc import Iterator

import numpy as np

ALL_PAIRS = 32
"""Members of a group that are compared pair by pair, the first ones; all are compared with its leaders. A page that is
everywhere would otherwise cost the square of its copies."""

LEADERS = 128
"""Leaders of a group at most. What a document is compared with depends on nothing that comes after it."""


def groups(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and sizes of the runs of equal keys that have two members or more, in a sorted array."""
    edges = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1], [True]])) if len(keys) else np.zeros(1, int)
    sizes = np.diff(edges)
    many = sizes > 1
    return edges[:-1][many], sizes[many]


def with_first(starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of every member but the first, each with the position of the first of its run."""
    return np.repeat(starts, sizes - 1), places_within(starts + 1, sizes - 1)


def within_groups(starts: np.ndarray, sizes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of positions ``(earlier, later)`` within runs: all of the first ``ALL_PAIRS`` members."""
    heads = np.minimum(sizes, ALL_PAIRS)
    for size in np.unique(heads).tolist():
        earlier, later = np.triu_indices(size, 1)
        begin = starts[heads == size][:, None]
        yield (begin + earlier).ravel(), (begin + later).ravel()


def places_within(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The positions of all members, run after run."""
    found: np.ndarray = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    return found


def pairs_within(sizes: np.ndarray) -> np.ndarray:
    """How many pairs ``within_groups`` gives for groups of these sizes."""
    heads = np.minimum(sizes, ALL_PAIRS)
    counts: np.ndarray = heads * (heads - 1) // 2
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
