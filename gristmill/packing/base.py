"""How documents become the stream, or the rows, that a format stores."""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from gristmill.errors import ConfigError
from gristmill.plugins import Plugin


class Packing(Plugin):
    """Base of all kinds of packing."""

    def check_formats(self, formats: dict[str, str]) -> None:
        """Raises ``ConfigError`` where a format cannot hold what this makes. ``formats``: what each kind holds,
        ``tokens``, ``rows`` or ``text``."""
        for kind, holds in formats.items():
            if holds == "rows":
                raise ConfigError(
                    f"formats: {kind} holds packed rows, and packing {self.kind()!r} makes one stream; choose packing "
                    "best_fit, best_fit_decreasing or no_truncation, or leave the format out"
                )


@dataclass(frozen=True, kw_only=True)
class Segments:
    """Where documents went, in row order: int64 arrays, one entry a segment.

    A segment is ``taken`` ids of a document from its id number ``skipped`` on. The segments of a row stand back to back
    from its first id; what is left of the row is padding.
    """

    document: np.ndarray
    skipped: np.ndarray
    taken: np.ndarray
    row: np.ndarray
    rows: int
    left: np.ndarray
    """Documents that are in no row."""

    def account(self, lengths: np.ndarray, capacity: int) -> dict[str, int]:
        """Every id of documents of ``lengths`` ids: ``placed + cropped + left == ids``, and
        ``placed + padding == rows * capacity``; ``whole``: documents with all their ids in one row."""
        ids, placed, left = int(lengths.sum()), int(self.taken.sum()), int(lengths[self.left].sum())
        return {
            "documents": len(lengths),
            "whole": int(np.count_nonzero(self.taken == lengths[self.document])),
            "absent": len(self.left),
            "rows": self.rows,
            "ids": ids,
            "placed": placed,
            "cropped": ids - placed - left,
            "left": left,
            "padding": self.rows * capacity - placed,
        }


class RowPacking(Packing):
    """Base of the kinds that make rows: ``length`` inputs and, one further on, their targets."""

    length: int = Field(2048, ge=1, le=1 << 24, description="Ids that a model sees; a row holds one more, the target.")

    @property
    def capacity(self) -> int:
        """Ids in a row."""
        return self.length + 1

    def arrange(self, lengths: np.ndarray) -> Segments:
        """The rows of documents of ``lengths`` ids each, their start-of-text id included, none of them 0."""
        raise NotImplementedError

    def check_formats(self, formats: dict[str, str]) -> None:
        for kind, holds in formats.items():
            if holds == "tokens":
                raise ConfigError(
                    f"formats: {kind} holds one stream, and packing {self.kind()!r} makes rows of {self.capacity} ids "
                    "with a mask; choose parquet_rows, or packing concat"
                )
