"""The last guard of EOS and special tokens: a document whose ids hold one is quarantined."""

from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np

from gristmill.sources.base import BadDocument
from gristmill.stages.dedup._kept import Kept
from gristmill.storage import disk
from gristmill.tokenizers.base import Encoded, Encoder
from gristmill.types import Artifact

SPECIAL_ID = "special_id"

FILE = "quarantine.jsonl"
"""One ``BadDocument`` a line; the URI is added where it is published."""

EXCERPT = 120


class SpecialIds:
    """Ids of ``encoder`` that no text may have, and the documents of one piece that have them all the same."""

    def __init__(self, encoder: Encoder) -> None:
        self._names = encoder.reserved()
        edges = sorted([-1, *self._names, encoder.vocab_size])
        self._gap = max(pairwise(edges), key=lambda gap: gap[1] - gap[0])
        self._table = np.zeros(encoder.vocab_size, bool)
        self._table[list(self._names)] = True
        self._bad: list[BadDocument] = []

    def places(self, ids: np.ndarray) -> np.ndarray:
        """Where special ids are in ``ids``, which are within the vocabulary. Mostly these are at its ends, and all ids
        of a text lie between: two comparisons of 0.1 ns an id."""
        low, high = self._gap
        if not ids.size or (int(ids.min()) > low and int(ids.max()) < high):
            return np.empty(0, np.int64)
        return np.flatnonzero(self._table[ids])

    def quarantine(self, batch: Kept, rows: np.ndarray, encoded: Encoded) -> np.ndarray:
        """Set those documents of ``batch`` aside that have special ids; returns their rows. ``rows`` has one for each
        of the texts that are ``encoded``."""
        places = self.places(encoded.ids)
        found = rows[np.minimum(np.searchsorted(encoded.offsets, places, "right"), len(rows)) - 1]
        bad, firsts = np.unique(found, return_index=True)
        for row, place in zip(bad.tolist(), places[firsts].tolist(), strict=True):
            at = int(np.searchsorted(batch.rows, row))
            name, text = (batch.documents.column(column)[at].as_py() for column in ("id", "text"))
            token = self._names[int(encoded.ids[place])]
            shown = msgspec.json.encode({"id": name, "token": token, "text": text[:EXCERPT]}).decode()
            excerpt = shown.encode("unicode_escape").decode("ascii")
            self._bad.append(BadDocument(reason=SPECIAL_ID, place=f"document {name}", offset=-1, excerpt=excerpt))
        return bad

    @property
    def count(self) -> int:
        """Documents set aside."""
        return len(self._bad)

    def reasons(self) -> dict[str, int]:
        """As ``StageReport`` wants them."""
        return {SPECIAL_ID: self.count} if self._bad else {}

    def written(self, folder: Path) -> dict[str, Artifact]:
        """The documents set aside as a file; nothing where there is none."""
        if not self._bad:
            return {}
        out = disk.Writer(folder / FILE)
        out.write(b"".join(msgspec.json.encode(bad) + b"\n" for bad in self._bad))
        out.close()
        return {"quarantine": out.artifact}
