"""Record batches of a parquet file, each of a size that is known before Arrow sets memory aside for it.

The sizes in a footer are those of encoded pages: a value that stands once in a dictionary may be a million rows, and a
few kilobytes of file then become gigabytes. So the rows of a read are bounded by the longest value of the dictionary,
follow what was measured, and columns of lists, where one row may hold any number of values, stay encoded until they
were weighed.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gristmill.errors import InputError
from gristmill.sources._limits import RATIO_FREE_BYTES, Limits
from gristmill.sources._rows import CHUNK_BYTES

MOST_ROWS = 1 << 15
"""Rows per batch, however short they are."""

_READ_ROWS, _READ_BYTES = 1 << 12, 1 << 19
"""A read aims at so much; several make a batch. Smaller reads are slower: 64 short rows at a time cost a third."""
_MOST_BYTES = 1 << 28
"""A read never takes more, whatever rows follow those that were measured, unless it is a single row."""
_GROWTH = 4
_PIECE_BYTES = 1 << 26
_BUFFER = 1 << 20


def opened(raw: Any, **options: Any) -> pq.ParquetFile:
    """A parquet file read by small pieces: by default pyarrow reads a whole column chunk of a row group ahead."""
    return pq.ParquetFile(raw, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True, **options)


class Batches:
    """The rows of some columns; raises what pyarrow raises where the file is damaged."""

    def __init__(self, raw: Any, uri: str, metadata: pq.FileMetaData, wanted: Sequence[str], limits: Limits) -> None:
        self._raw, self._uri, self._metadata, self._wanted, self._limits = raw, uri, metadata, list(wanted), limits
        schema = metadata.schema
        columns = [schema.column(n) for n in range(len(schema))]
        leaves = [leaf for leaf in columns if leaf.physical_type == "BYTE_ARRAY" and self._is_wanted(leaf.path)]
        self._single = [leaf.path for leaf in leaves if leaf.max_repetition_level == 0]
        self._file = self._open([leaf.path for leaf in leaves if leaf.max_repetition_level > 0])
        self._prober = self._open(self._single)
        self._stored: int = raw.seek(0, 2)
        self._total = 0

    def read(self, groups: Sequence[int], weights: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The rows of the groups in order, about 4 MB at a time; ``weights`` are the encoded bytes of each group.

        Raises ``InputError`` ``limit`` when more comes out than ``file_bytes`` and ``ratio`` allow.
        """
        held: list[pa.RecordBatch] = []
        size = rows = 0
        for group in groups:
            for batch, weight in self._group(group, weights[group]):
                if held and (size + weight > CHUNK_BYTES or rows + len(batch) > MOST_ROWS or _is_encoded(batch)):
                    yield _joined(held)
                    held, size, rows = [], 0, 0
                held.append(batch)
                size, rows = size + weight, rows + len(batch)
        if held:
            yield _joined(held)

    def _group(self, group: int, weight: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Pieces of a row group and their weights."""
        most = self._most_rows(group, weight)
        rows = 1
        batches = self._file.iter_batches(rows, row_groups=[group], columns=self._wanted, use_threads=False)
        while (batch := next(batches, None)) is not None:
            measured = 0
            for piece, size in _pieces(batch, _weight(batch)):
                self._count(size)
                measured = max(measured, size // len(piece))
                yield piece, size
            rows = max(1, min(most, rows * _GROWTH, _READ_BYTES // max(measured, 1)))
            self._file.reader.set_batch_size(rows)

    def _most_rows(self, group: int, weight: int) -> int:
        """Rows of a group that cannot take more than a read may, by the longest value of its dictionaries."""
        count: int = self._metadata.row_group(group).num_rows
        aim = min(_READ_ROWS, max(1, _READ_BYTES * count // max(weight, 1)))
        # A value is never longer than its group: that bound costs nothing, and does for small groups of long rows.
        rows = min(aim, _MOST_BYTES // max(weight, 1))
        if rows >= min(aim // 4, count) or not self._single:
            return rows
        probes = self._prober.iter_batches(1, row_groups=[group], columns=self._wanted, use_threads=False)
        longest = max((_longest(first.columns) for first in islice(probes, 1)), default=0)
        return max(1, min(_READ_ROWS, _MOST_BYTES // max(longest, 1)))

    def _count(self, size: int) -> None:
        self._total += size
        if self._total > self._limits.file_bytes:
            raise InputError(f"{self._uri}: more than {self._limits.file_bytes} bytes (limits.file_bytes)", "limit")
        if self._total > RATIO_FREE_BYTES and self._total > self._limits.ratio * self._stored:
            message = f"{self._uri}: {self._total} bytes came out of {self._stored}"
            raise InputError(f"{message}: over {self._limits.ratio} to 1 (limits.ratio)", "limit")

    def _is_wanted(self, path: str) -> bool:
        return any(path == name or path.startswith(f"{name}.") for name in self._wanted)

    def _open(self, encoded: list[str]) -> pq.ParquetFile:
        return opened(self._raw, metadata=self._metadata, read_dictionary=encoded)


def _pieces(batch: pa.RecordBatch, weight: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """A batch in parts that are small once decoded, or a single row."""
    if weight <= _PIECE_BYTES or len(batch) == 1:
        yield batch, weight
        return
    half = len(batch) // 2
    for part in (batch.slice(0, half), batch.slice(half)):
        yield from _pieces(part, _weight(part))


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _is_encoded(batch: pa.RecordBatch) -> bool:
    return any("dictionary<" in str(kind) for kind in batch.schema.types)


def _weight(batch: pa.RecordBatch) -> int:
    return sum(map(weight, batch.columns))


def weight(column: pa.Array) -> int:
    """Bytes of a column once no part of it is a dictionary any more."""
    kind = column.type
    if not pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
        return int(column.nbytes)
    if pa.types.is_dictionary(kind):
        values = column.dictionary
        if not _has_lengths(values.type):
            return int(column.indices.nbytes)
        lengths = pc.binary_length(values).cast(pa.int64()).take(column.indices)
        return int(pc.sum(lengths).as_py() or 0) + int(column.indices.nbytes)
    return sum(map(weight, _children(column))) + len(column)


def _longest(columns: Sequence[pa.Array]) -> int:
    """Length of the longest value of any dictionary in the columns, or in their children."""
    found = [0]
    for column in columns:
        if pa.types.is_dictionary(column.type) and _has_lengths(column.type.value_type):
            found.append(pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
        elif pa.types.is_nested(column.type):
            found.append(_longest(_children(column)))
    return max(found)


def _children(column: pa.Array) -> list[pa.Array]:
    if pa.types.is_struct(column.type):
        return list(column.flatten())
    if pa.types.is_map(column.type):
        edges = column.offsets
        first, last = edges[0].as_py(), edges[-1].as_py()
        return [child.slice(first, last - first) for child in (column.keys, column.items)]
    return [column.flatten()] if hasattr(column, "flatten") else []


def _has_lengths(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind) or types.is_large_binary(kind)
    )
