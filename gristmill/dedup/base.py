"""What the kinds of duplicate removal offer. There are three sorts: ``Dedup`` compares documents with each other,
``Screen`` holds each against given texts, ``SpanDedup`` removes repeated parts."""

from typing import ClassVar, Literal

import msgspec
import numpy as np
import pyarrow as pa

from gristmill.plugins import Plugin
from gristmill.types import Value


class Signatures(Value, frozen=True, kw_only=True):
    """What is known of a batch of documents, one row each."""

    bands: np.ndarray
    """uint64, ``(documents, bands)``: documents with an equal key in some band are candidates."""
    check: np.ndarray
    """``(documents, width)``, any unsigned dtype: what ``confirmed`` compares."""
    valid: np.ndarray
    """bool, ``(documents,)``: False for a document that can be no copy (shorter than a shingle, no words)."""
    sets: list[np.ndarray] = msgspec.field(default_factory=list)
    """Where ``compares_sets``: for each document the sorted, distinct uint64 hashes that it is made of."""


CONTAMINATED = "contaminated"
"""Reason of a document that a screen drops."""


class DedupKind(Plugin):
    """One entry of ``dedup`` in a configuration: a ``Dedup``, a ``Screen`` or a ``SpanDedup``."""

    compares_text: ClassVar[bool] = False
    """Whether it finds the copies among documents of which nothing but the text is known, as of published ones."""

    @property
    def reason(self) -> str:
        """Why a document is dropped, in reports."""
        return f"duplicate_{self.kind()}"

    def check(self) -> None:
        """Raises ``ConfigError`` when something that it needs is not on this machine."""


class Dedup(DedupKind):
    """Finds documents that repeat another one. Which of them stays is not its concern."""

    compares_text: ClassVar[bool] = True

    version: ClassVar[int] = 4
    """Raised as well when other pairs are compared or other copies stay: that is decided for all kinds together."""

    transitive: ClassVar[bool] = False
    """True when being a copy is an equivalence: candidates are then compared with one of their group only."""

    def band_count(self) -> int:
        """Columns of ``Signatures.bands``."""
        return 1

    def check_dtype(self) -> np.dtype:
        """dtype of ``Signatures.check`` with its width as a subarray: one record is one row."""
        raise NotImplementedError

    def sign(self, documents: pa.RecordBatch, programs: np.ndarray | None = None) -> Signatures:
        """Signatures of a batch of ``DOCUMENT_SCHEMA``; each document's depend on nothing but the document.
        ``programs``, bool: which documents are of a source of genre ``code``; None where none is."""
        raise NotImplementedError

    def confirmed(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """bool, ``(pairs,)``: whether the candidates with these rows of ``check`` (``(pairs, width)``) are copies."""
        raise NotImplementedError

    def compares_sets(self) -> bool:
        """Whether confirmed pairs are compared once more, by their ``sets``."""
        return False

    def confirmed_by_sets(self, first: np.ndarray, second: np.ndarray) -> bool:
        """Whether two documents with these ``sets`` are copies."""
        raise NotImplementedError

    def least(self) -> float | None:
        """The similarity from which on two documents are copies; None where likeness has no degrees."""
        return None

    def similarity(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """float64, ``(pairs,)``: how alike the documents with these rows of ``check`` are, from 0 to 1."""
        return self.confirmed(first, second).astype(np.float64)

    def similarity_of_sets(self, first: np.ndarray, second: np.ndarray) -> float:
        """The same by ``sets``."""
        raise NotImplementedError


class Match(Value, frozen=True, kw_only=True):
    """A document that a screen objects to."""

    row: int
    """Its place in the batch."""
    match: str
    """What it was found to contain, and where that comes from."""


class Screen(DedupKind):
    """Holds every document against given texts, such as evaluation sets; needs no other document."""

    action: Literal["drop", "report"] = "drop"
    """What a match does to the document; either way it is named in the ledger of copies."""

    @property
    def reason(self) -> str:
        return CONTAMINATED

    def matches(self, documents: pa.RecordBatch) -> list[Match]:
        """The documents of a batch that match, each once, in order."""
        raise NotImplementedError


class Spans(Value, frozen=True, kw_only=True):
    """Parts of the texts of a batch that may repeat, in the order of (document, start)."""

    document: np.ndarray
    """int64, place in the batch."""
    start: np.ndarray
    stop: np.ndarray
    """int64, half-open byte range in the document's own UTF-8 text: what is removed when the span repeats."""
    keys: np.ndarray
    """uint64, ``(spans, 2)``: 128 bits of hash of what is compared."""


class SpanDedup(DedupKind):
    """Removes parts of documents that stand in an earlier place of the corpus already; the first one stays."""

    min_left: int = 100
    """A document that lost something and has fewer characters left is dropped, unless one of its spans is the first of
    those for which other documents lost theirs."""

    def spans(self, texts: pa.StringArray, *, programs: bool = False) -> Spans:
        """The spans of a batch that are long enough to be compared. ``programs``: the texts are of genre ``code``."""
        raise NotImplementedError
