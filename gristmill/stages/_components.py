"""Forests on arrays: parents come before their children."""

import numpy as np

BLOCK = 1 << 22
"""Nodes looked at together while trees are flattened: 64 MB of further arrays."""


def hang(parents: np.ndarray, earlier: np.ndarray, later: np.ndarray) -> None:
    """Hang ``later[i]`` under ``earlier[i]``, unless it hangs under a node that is earlier still."""
    np.minimum.at(parents, later, earlier.astype(parents.dtype))


def join(parents: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Connect the nodes ``first[i]`` and ``second[i]`` in the forest, in which no parent is above its child.

    Hook and compress after Shiloach and Vishkin (1982): the larger root of an edge is hung under the smaller, until no
    edge joins two roots. Time goes with the edges, whatever the size of the forest.
    """
    while len(first):
        first, second = _roots(parents, first), _roots(parents, second)
        apart = first != second
        first, second = first[apart], second[apart]
        np.minimum.at(parents, np.maximum(first, second), np.minimum(first, second))


def flatten(parents: np.ndarray) -> None:
    """Make every node point at its root, in one ascending pass: parents come before their children."""
    for start in range(0, len(parents), BLOCK):
        block = parents[start : start + BLOCK]
        while True:
            further = parents[block]
            if np.array_equal(further, block):
                break
            block[:] = further


def _roots(parents: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The root of each node; every step halves the ways of all."""
    found: np.ndarray = parents[nodes]
    while True:
        further = parents[found]
        if np.array_equal(further, found):
            return found
        parents[nodes] = further
        found = further
