"""Holding documents against each other by what ``sign`` kept of them."""

from collections.abc import Callable, Iterator

import numpy as np

from gristmill.dedup.base import Dedup
from gristmill.stages.dedup import _memory
from gristmill.stages.dedup.records import LOW, by_piece, mapped
from gristmill.types import StageReport


class Comparison:
    """Compares documents of one dedup kind, given as nodes; files are mapped when their piece is first asked for."""

    def __init__(self, kind: int, plugin: Dedup, ranks: list[int], signed: list[StageReport], memory: int) -> None:
        self._kind = kind
        self._plugin = plugin
        self._signed = dict(zip(ranks, signed, strict=True))
        self._step = _memory.compared(memory, plugin.check_dtype().itemsize)
        self._files: dict[tuple[int, str], np.ndarray] = {}

    def copies(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """bool: which pairs the plugin holds for copies."""
        found = np.zeros(len(second), bool)
        for part in self._parts(len(second)):
            found[part] = self._plugin.confirmed(self._rows(first[part]), self._rows(second[part]))
        return self._by_sets(found, first, second)

    def within(self, nodes: np.ndarray) -> Callable[[int], np.ndarray]:
        """What tells, of a place among the nodes, which of the later ones are copies of the one there. The rows of a
        group are read once, where they fit into memory."""
        if len(nodes) > self._step:
            return lambda place: self.copies(np.broadcast_to(nodes[place], len(nodes) - place - 1), nodes[place + 1 :])
        rows = self._rows(nodes)

        def later(place: int) -> np.ndarray:
            others = rows[place + 1 :]
            found = self._plugin.confirmed(np.broadcast_to(rows[place], others.shape), others)
            return self._by_sets(found, np.broadcast_to(nodes[place], len(others)), nodes[place + 1 :])

        return later

    def _by_sets(self, found: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Of the pairs found, those that their sets confirm, where sets are compared."""
        if self._plugin.compares_sets():
            for place in np.flatnonzero(found).tolist():
                found[place] = self._plugin.confirmed_by_sets(self._set(first[place]), self._set(second[place]))
        return found

    def similarity(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """float32: how alike the pairs are, from 0 to 1."""
        found = np.empty(len(second), np.float32)
        for part in self._parts(len(second)):
            found[part] = self._plugin.similarity(self._rows(first[part]), self._rows(second[part]))
        if self._plugin.compares_sets():
            pairs = zip(first, second, strict=True)
            found[:] = [self._plugin.similarity_of_sets(self._set(one), self._set(other)) for one, other in pairs]
        return found

    def _parts(self, pairs: int) -> Iterator[slice]:
        return (slice(start, start + self._step) for start in range(0, pairs, self._step))

    def _rows(self, nodes: np.ndarray) -> np.ndarray:
        """The check rows of nodes, ``(nodes, width)``."""
        dtype = self._plugin.check_dtype()
        found = np.empty((len(nodes), *dtype.shape), dtype.base)
        for rank, here in by_piece(nodes):
            found[here] = self._file(rank, "check", dtype)[nodes[here] & LOW]
        return found

    def _set(self, node: np.uint64) -> np.ndarray:
        rank, row = int(node) >> 32, int(node & LOW)
        start, stop = self._file(rank, "ends", np.dtype("<i8"))[row : row + 2]
        return self._file(rank, "sets", np.dtype("<u8"))[start:stop]

    def _file(self, rank: int, ending: str, dtype: np.dtype) -> np.ndarray:
        if (rank, ending) not in self._files:
            # As a plain array: numpy takes three times as long to index a map.
            self._files[rank, ending] = np.asarray(mapped(self._signed[rank], f"{self._kind}.{ending}", dtype))
        return self._files[rank, ending]
