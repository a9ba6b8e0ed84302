"""Filters that judge a batch by its tables, and the last batch's tables, kept for the next filter."""

import threading
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.cleaning._tables import Tables
from gristmill.cleaning._utf8 import Utf8, view
from gristmill.cleaning.base import Filter, Measured

CHUNK_BYTES = 1 << 18
"""Documents are analysed about this many bytes at a time, so that the arrays stay in the processor's cache."""


class TableFilter(Filter):
    """A filter that measures the documents of a chunk by its tables."""

    def figures(self, tables: Tables) -> dict[str, Measured]:
        """For each reason, in the order in which they are asked, what is measured of the documents."""
        raise NotImplementedError

    def measures(self, documents: pa.RecordBatch) -> dict[str, Measured]:
        parts = [self.figures(part) for part in tables(documents.column("text"))]
        if len(parts) < 2:
            return parts[0] if parts else {}
        return {
            reason: replace(figure, values=np.concatenate([part[reason].values for part in parts]))
            for reason, figure in parts[0].items()
        }


@dataclass(frozen=True, slots=True)
class _Analysis:
    """Texts and their tables; the texts are kept so that no other buffer gets the address they are known by."""

    texts: pa.StringArray
    tables: list[Tables]


class _Recent(threading.local):
    """What was analysed last on this thread."""

    analysis: _Analysis | None = None


_recent = _Recent()


def tables(texts: pa.StringArray) -> list[Tables]:
    """The tables of the texts, chunk by chunk in order; those of the same buffers as last time are reused."""
    analysis = _recent.analysis
    if analysis is None or _place(analysis.texts) != _place(texts):
        analysis = _recent.analysis = _Analysis(texts, _analyse(texts))
    return analysis.tables


def _place(texts: pa.StringArray) -> list[int]:
    return [texts.offset, len(texts), *(buffer.address if buffer else 0 for buffer in texts.buffers())]


def _analyse(texts: pa.StringArray) -> list[Tables]:
    utf8 = view(texts)
    lengths = pc.utf8_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
    chunk = utf8.offsets[:-1] // CHUNK_BYTES
    firsts = [*np.flatnonzero(np.diff(chunk, prepend=-1)).tolist(), len(texts)]
    return [_chunk(utf8, lengths, first, stop) for first, stop in pairwise(firsts)]


def _chunk(utf8: Utf8, lengths: np.ndarray, first: int, stop: int) -> Tables:
    offsets = utf8.offsets[first : stop + 1]
    return Tables(Utf8(utf8.data[offsets[0] : offsets[-1]], offsets - offsets[0]), lengths[first:stop])
