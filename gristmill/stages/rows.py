"""Pack the documents of one file into rows."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gristmill import progress, storage
from gristmill.errors import InputError
from gristmill.formats.parquet_rows import ParquetRows
from gristmill.packing.base import RowPacking, Segments
from gristmill.rows import RowGroup, write_groups
from gristmill.stages.pack import BOUNDARY_EVERY
from gristmill.types import DOCUMENT, Boundary, TokenizerRecord, Value, token_dtype


class RowFile(Value, frozen=True, kw_only=True):
    """A file of rows that was written."""

    path: Path
    account: dict[str, int]
    """What became of every id; see ``Segments.account``."""
    documents: int
    """In the rows, whole or in part."""
    boundaries: list[Boundary]
    """Where about every thousandth document starts, padding not counted."""


def write_rows(
    path: Path,
    tokens: list[Path],
    documents: list[Path],
    format: ParquetRows,
    packing: RowPacking,
    record: TokenizerRecord,
) -> RowFile:
    """Rows of the documents in files of raw ids, each with its start-of-text id before it, and files of their
    ``DOCUMENT`` records: packed together, apart from every other file, so files can be made at the same time.

    Memory: 60 bytes a document and the row group under way. Raises ``InputError`` when they make no row.
    """
    dtype = token_dtype(record.vocab_size)
    listed = np.concatenate([np.fromfile(file, DOCUMENT) for file in documents])
    lengths = listed["length"].astype(np.int64) + 1
    segments = packing.arrange(lengths)
    if not segments.rows:
        raise InputError(
            f"{path.name}: {int(lengths.sum())} ids make no row of {packing.capacity}; choose a shorter "
            "packing.length, or a larger split",
            "limit",
        )
    stream = _Stream(tokens, lengths, dtype)
    pad = np.full(packing.capacity, record.eot_id, dtype)
    with storage.Writer(path) as out:
        write_groups(out, _groups(stream, segments, listed["shard"], format.group, pad), dtype)
    starts = np.flatnonzero(segments.skipped == 0)
    before = np.cumsum(segments.taken) - segments.taken
    return RowFile(
        path=path,
        account=segments.account(lengths, packing.capacity),
        documents=len(starts),
        boundaries=[
            Boundary(document=number, token=int(before[starts[number]]))
            for number in range(0, len(starts), BOUNDARY_EVERY)
        ],
    )


class _Stream:
    """Ids of documents that stand back to back over several files, none of them in two."""

    def __init__(self, files: list[Path], lengths: np.ndarray, dtype: np.dtype) -> None:
        self._data = [np.memmap(file, np.uint8, "r").data if file.stat().st_size else b"" for file in files]
        self._item = dtype.itemsize
        sizes = np.cumsum([0, *(len(data) // dtype.itemsize for data in self._data)])
        starts = np.cumsum(lengths) - lengths
        self._file = np.searchsorted(sizes, starts, "right") - 1
        self._start = starts - sizes[self._file]

    def parts(self, document: np.ndarray, skipped: np.ndarray, taken: np.ndarray) -> list[memoryview | bytes]:
        """The bytes of segments."""
        begins = (self._start[document] + skipped) * self._item
        ends = begins + taken * self._item
        places = zip(self._file[document].tolist(), begins.tolist(), ends.tolist(), strict=True)
        return [self._data[file][begin:end] for file, begin, end in places]


def _groups(stream: _Stream, segments: Segments, shards: np.ndarray, size: int, pad: np.ndarray) -> Iterator[RowGroup]:
    capacity, padding = len(pad), pad.data.cast("B")
    for first in range(0, segments.rows, size):
        rows = min(size, segments.rows - first)
        chosen = slice(*np.searchsorted(segments.row, [first, first + rows]))
        document, skipped, taken = segments.document[chosen], segments.skipped[chosen], segments.taken[chosen]
        counts = np.bincount(segments.row[chosen] - first, minlength=rows)
        filled = np.bincount(segments.row[chosen] - first, taken, minlength=rows).astype(np.int64)
        parts = stream.parts(document, skipped, taken)
        ends = np.cumsum(counts)
        for row in reversed(np.flatnonzero(filled < capacity).tolist()):
            parts.insert(int(ends[row]), padding[int(filled[row]) * pad.itemsize :])
        data = b"".join(parts)
        progress.advance(0, len(data))
        stands = np.cumsum(taken) - np.repeat(np.cumsum(filled) - filled, counts)
        yield RowGroup(
            ids=np.frombuffer(data, pad.dtype).reshape(rows, capacity),
            mask=np.arange(capacity) < filled[:, None],
            segments=counts,
            ends=stands,
            skipped=skipped,
            shards=shards[document],
        )
