"""Pack the documents of one file into rows."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gristmill.errors import InputError
from gristmill.formats.base import RowFormat
from gristmill.packing.base import RowPacking, Segments
from gristmill.processes import progress
from gristmill.stages.output.pack import BOUNDARY_EVERY
from gristmill.storage import disk
from gristmill.storage.rows import RowGroup
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
    format: RowFormat,
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
    files = [np.memmap(file, np.uint8, "r").data if file.stat().st_size else memoryview(b"") for file in tokens]
    stream = Stream(files, lengths, np.full(packing.capacity, record.eot_id, dtype))
    with disk.Writer(path) as out:
        format.write(out, row_groups(stream, None, segments, listed["shard"], format.group), dtype)
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


class Stream:
    """Values of documents of ``lengths`` that stand back to back over several buffers, none of them in two. ``pad``: a
    row of what stands where no document does."""

    def __init__(self, buffers: list[memoryview], lengths: np.ndarray, pad: np.ndarray) -> None:
        self._data, self._pad = buffers, pad
        self._item = pad.dtype.itemsize
        sizes = np.cumsum([0, *(len(data) // self._item for data in buffers)])
        starts = np.cumsum(lengths) - lengths
        self._buffer = np.searchsorted(sizes, starts, "right") - 1
        self._start = starts - sizes[self._buffer]

    def rows(self, segments: Segments, chosen: slice, counts: np.ndarray, filled: np.ndarray) -> np.ndarray:
        """The chosen segments as (rows, capacity); ``counts``, ``filled``: how many segments and values a row has."""
        document = segments.document[chosen]
        begins = (self._start[document] + segments.skipped[chosen]) * self._item
        ends = begins + segments.taken[chosen] * self._item
        places = zip(self._buffer[document].tolist(), begins.tolist(), ends.tolist(), strict=True)
        parts: list[memoryview] = [self._data[buffer][begin:end] for buffer, begin, end in places]
        after, padding = np.cumsum(counts), self._pad.data.cast("B")
        for row in reversed(np.flatnonzero(filled < len(self._pad)).tolist()):
            parts.insert(int(after[row]), padding[int(filled[row]) * self._item :])
        return np.frombuffer(b"".join(parts), self._pad.dtype).reshape(len(counts), len(self._pad))


def row_groups(
    ids: Stream, learn: Stream | None, segments: Segments, shards: np.ndarray, size: int
) -> Iterator[RowGroup]:
    """Groups of ``size`` rows. ``learn``: of each id, whether to learn it, all where None. ``shards``: of documents."""
    for first in range(0, segments.rows, size):
        rows = min(size, segments.rows - first)
        chosen = slice(*np.searchsorted(segments.row, [first, first + rows]))
        row, taken = segments.row[chosen] - first, segments.taken[chosen]
        counts = np.bincount(row, minlength=rows)
        filled = np.bincount(row, taken, minlength=rows).astype(np.int64)
        found = ids.rows(segments, chosen, counts, filled)
        content = np.arange(found.shape[1]) < filled[:, None]
        progress.advance(0, found.nbytes)
        yield RowGroup(
            ids=found,
            mask=content if learn is None else learn.rows(segments, chosen, counts, filled),
            segments=counts,
            ends=np.cumsum(taken) - np.repeat(np.cumsum(filled) - filled, counts),
            skipped=segments.skipped[chosen],
            shards=shards[segments.document[chosen]],
        )
