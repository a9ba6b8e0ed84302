"""What the kinds that pad have in common: documents cut to the row, and whole pieces put together."""

from dataclasses import dataclass

import numpy as np

from gristmill.packing._waiting import Waiting
from gristmill.packing.base import Segments


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """Parts of documents of at most a row each, in order: int64 arrays."""

    document: np.ndarray
    skipped: np.ndarray
    taken: np.ndarray

    def segments(self, order: np.ndarray, row: np.ndarray, left: np.ndarray | None = None) -> Segments:
        """These pieces in the ``order`` of rows; ``row`` is that of each, in that order."""
        return Segments(
            document=self.document[order],
            skipped=self.skipped[order],
            taken=self.taken[order],
            row=row,
            rows=int(row[-1]) + 1 if len(row) else 0,
            left=np.empty(0, np.int64) if left is None else left,
        )


def fragments(lengths: np.ndarray, capacity: int) -> Pieces:
    """Every id of every document: those longer than a row become several pieces, full ones and the rest."""
    counts = -(-lengths.astype(np.int64) // capacity)
    document = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(document)) - np.repeat(np.cumsum(counts) - counts, counts)
    skipped = number * capacity
    return Pieces(document=document, skipped=skipped, taken=np.minimum(lengths[document] - skipped, capacity))


def beginnings(lengths: np.ndarray, capacity: int) -> Pieces:
    """At most a row from the start of every document; the rest is cropped."""
    count = len(lengths)
    return Pieces(
        document=np.arange(count),
        skipped=np.zeros(count, np.int64),
        taken=np.minimum(lengths.astype(np.int64), capacity),
    )


def best_fit_padded(sizes: np.ndarray, *, capacity: int, buffer: int, refill: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole pieces of ``sizes`` ids from a buffer: the largest that fits what is left of a row, else a new row.
    No piece is longer than a row, so every row gets one and there is an end.

    Returns the pieces in row order, and the row of each.
    """
    assert not len(sizes) or sizes.max() <= capacity
    lengths: list[int] = sizes.tolist()
    waiting = Waiting(sizes, size=buffer, refill=refill)
    order: list[int] = []
    rows: list[int] = []
    room, row = capacity, 0
    while waiting.fill():
        piece = waiting.largest(room)
        if piece < 0:
            room, row = capacity, row + 1
            continue
        order.append(piece)
        rows.append(row)
        room -= lengths[piece]
    return np.array(order, np.int64), np.array(rows, np.int64)
