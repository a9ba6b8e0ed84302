"""The least padding: the longest documents first, each into the fullest row that has room."""

from bisect import bisect_left, insort
from heapq import heappop, heappush
from typing import Literal

import numpy as np
from pydantic import Field

from gristmill.packing._padded import beginnings, fragments
from gristmill.packing.base import RowPacking, Segments


class BestFitDecreasing(RowPacking):
    """Rows as OLMo-core's packed data sets make them of a group of documents: as many, as full. Which of equally long
    documents meet in a row is left open there, by a sort that is not stable. Here a group is a bucket of the order.

    Documents, longest first and in their order where equal, go into the row with the least room that is enough, the
    oldest of several; a new row where none has it. Rows are published in the order of their longest documents, which
    does not depend on lengths: otherwise the longest would all come first. OLMo-core's rows hold its sequence length,
    and no target behind it: ``length`` is one less than that.
    """

    long: Literal["truncate", "fragment"] = Field(
        "truncate", description="What becomes of a document longer than a row: its beginning, or several pieces."
    )

    def arrange(self, lengths: np.ndarray) -> Segments:
        cut = beginnings if self.long == "truncate" else fragments
        pieces = cut(lengths, self.capacity)
        row = _rows(pieces.taken, self.capacity)
        longest_first = np.argsort(-pieces.taken, kind="stable")
        _, firsts = np.unique(row[longest_first], return_index=True)
        place = np.empty(len(firsts), np.int64)
        place[np.argsort(longest_first[firsts], kind="stable")] = np.arange(len(firsts))
        row = place[row]
        order = longest_first[np.argsort(row[longest_first], kind="stable")]
        return pieces.segments(order, row[order])


def _rows(sizes: np.ndarray, capacity: int) -> np.ndarray:
    """int64: the row of each piece. Rows with equal room are a heap, and the rooms there are a sorted list, so a piece
    costs two binary searches whatever the number of rows."""
    found = np.empty(len(sizes), np.int64)
    open_rows: dict[int, list[int]] = {}
    rooms: list[int] = []
    count = 0
    order = np.argsort(-sizes, kind="stable")
    for piece, size in zip(order.tolist(), sizes[order].tolist(), strict=True):
        place = bisect_left(rooms, size)
        if place == len(rooms):
            room, row, count = capacity, count, count + 1
        else:
            room = rooms[place]
            row = heappop(open_rows[room])
            if not open_rows[room]:
                del open_rows[room], rooms[place]
        found[piece] = row
        rest = room - size
        if rest:
            if rest not in open_rows:
                insort(rooms, rest)
                open_rows[rest] = []
            heappush(open_rows[rest], row)
    return found
