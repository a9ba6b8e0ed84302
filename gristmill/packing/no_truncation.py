"""Whole documents, padded: nothing is cut but what is longer than a row."""

import numpy as np
from pydantic import Field

from gristmill.packing._padded import best_fit_padded, fragments
from gristmill.packing.base import RowPacking, Segments


class NoTruncation(RowPacking):
    """Every id of every document, in rows that are filled up with padding under a mask.

    From a buffer the largest document that fits what is left of the row; where none fits, padding. A document longer
    than a row is split into pieces, which a format marks by how many ids of it stand before: full rows, and a rest that
    goes with others. Rows keep the order of the documents but for the buffer.
    """

    buffer: int = Field(1000, ge=1, description="Documents to choose from.")
    refill: int = Field(128, ge=1, description="Documents that arrive at a time.")

    def arrange(self, lengths: np.ndarray) -> Segments:
        pieces = fragments(lengths, self.capacity)
        order, row = best_fit_padded(pieces.taken, capacity=self.capacity, buffer=self.buffer, refill=self.refill)
        return pieces.segments(order, row)
