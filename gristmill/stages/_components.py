"""Connected components on arrays."""

from collections.abc import Iterable

import numpy as np


def components(nodes: np.ndarray, edges: Iterable[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """For each of the sorted, distinct ``nodes`` (uint64) the index of the smallest node connected with it.

    ``edges`` are arrays of end points, taken one at a time: memory is 16 bytes a node and a few times one array.
    Hook and compress after Shiloach and Vishkin (1982): the larger root of an edge is hung under the smaller, until no
    edge joins two roots.
    """
    labels = np.arange(len(nodes))
    for first, second in edges:
        a, b = np.searchsorted(nodes, first), np.searchsorted(nodes, second)
        while True:
            a, b = labels[a], labels[b]
            open_edges = a != b
            if not open_edges.any():
                break
            a, b = a[open_edges], b[open_edges]
            np.minimum.at(labels, np.maximum(a, b), np.minimum(a, b))
            labels = _compressed(labels)
    return labels


def _compressed(labels: np.ndarray) -> np.ndarray:
    """Every node points at its root."""
    while True:
        further = labels[labels]
        if np.array_equal(further, labels):
            return labels
        labels = further
