"""How documents become the stream, or the rows, that a format stores."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.errors import ConfigError
from gristmill.plugins import Plugin, kinds_by_fact


class Packing(Plugin):
    """Base of all kinds of packing."""

    makes: ClassVar[Literal["stream", "rows"]] = "stream"

    def check_format(self, kind: str, holds: str) -> None:
        """Raises ``ConfigError`` where a format of this kind, which holds ``tokens``, ``rows`` or ``text``, cannot hold
        what this makes."""
        if holds == "rows":
            *others, last = kinds_by_fact("packing", "makes", "rows")
            raise ConfigError(
                f"formats: {kind} holds packed rows, and packing {self.kind()!r} makes one stream; choose packing "
                f"{', '.join(others)} or {last}, or leave the format out"
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

    makes: ClassVar[Literal["stream", "rows"]] = "rows"

    length: int = Field(2048, ge=1, le=1 << 24, description="Ids that a model sees; a row holds one more, the target.")

    @property
    def capacity(self) -> int:
        """Ids in a row."""
        return self.length + 1

    def arrange(self, lengths: np.ndarray) -> Segments:
        """The rows of documents of ``lengths`` ids each, their start-of-text id included, none of them 0."""
        raise NotImplementedError

    def check_format(self, kind: str, holds: str) -> None:
        if holds == "tokens":
            formats, packing = kinds_by_fact("formats", "holds", "rows"), kinds_by_fact("packing", "makes", "stream")
            raise ConfigError(
                f"formats: {kind} holds one stream, and packing {self.kind()!r} makes rows of {self.capacity} ids "
                f"with a mask; choose {', '.join(formats)}, or packing {', '.join(packing)}"
            )
