"""What every kind of duplicate removal offers: signatures of documents, and whether two of them mean a copy."""

from typing import ClassVar

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


class Dedup(Plugin):
    """Finds documents that repeat another one. Which of them stays is not its concern."""

    transitive: ClassVar[bool] = False
    """True when being a copy is an equivalence: candidates are then compared with one of their group only."""

    def band_count(self) -> int:
        """Columns of ``Signatures.bands``."""
        return 1

    def check_dtype(self) -> np.dtype:
        """dtype of ``Signatures.check`` with its width as a subarray: one record is one row."""
        raise NotImplementedError

    def sign(self, documents: pa.RecordBatch) -> Signatures:
        """Signatures of a batch of ``DOCUMENT_SCHEMA``; each document's depend on nothing but the document."""
        raise NotImplementedError

    def confirmed(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """bool, ``(pairs,)``: whether the candidates with these rows of ``check`` (``(pairs, width)``) are copies."""
        raise NotImplementedError
