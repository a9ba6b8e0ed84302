"""Candidate pairs from equal keys."""

from collections.abc import Iterator

import numpy as np

ALL_PAIRS = 32
"""Groups up to this size are compared pair by pair; in larger ones every document is compared with the first and with
its neighbour, or a page that is everywhere would cost the square of its copies."""


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
    """Pairs of positions ``(earlier, later)`` within runs: all of a small one, a chain and a star of a large one."""
    for size in np.unique(sizes[sizes <= ALL_PAIRS]).tolist():
        earlier, later = np.triu_indices(size, 1)
        begin = starts[sizes == size][:, None]
        yield (begin + earlier).ravel(), (begin + later).ravel()
    large = sizes > ALL_PAIRS
    if large.any():
        first, later = with_first(starts[large], sizes[large])
        yield first, later
        yield later - 1, later


def portions(starts: np.ndarray, sizes: np.ndarray, pairs: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The groups in portions of at most so many pairs within them, or one group."""
    costs = np.cumsum(np.where(sizes <= ALL_PAIRS, sizes * (sizes - 1) // 2, 2 * (sizes - 1)))
    first = 0
    while first < len(starts):
        before = int(costs[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(costs, before + pairs, "right")))
        yield starts[first:last], sizes[first:last]
        first = last
