"""Documents of parquet files, a bounded record batch at a time, only the columns asked for."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gristmill.errors import InputError
from gristmill.sources._found import Part
from gristmill.sources._limits import Limits
from gristmill.sources._names import base_name
from gristmill.sources._rows import CHUNK_BYTES, Fields, bad
from gristmill.sources._streams import Raw
from gristmill.sources.base import Chunk

MOST_ROWS = 1 << 15
"""Rows per batch, however short they are."""

_BUFFER = 1 << 20
_ACCEPTED = "string, large_string, string_view, binary, a dictionary of these, or a list of strings"


class Table:
    """An open parquet file. Raises ``InputError`` ``bad_parquet`` wherever it is damaged."""

    def __init__(self, raw: Raw) -> None:
        if not raw.seekable():
            raise InputError(f"{raw.uri}: parquet needs a server that serves byte ranges; download the file first")
        self._uri = raw.uri
        with self._damage():
            # Buffered column streams: by default pyarrow reads a whole column chunk of a row group ahead.
            self._file = pq.ParquetFile(raw, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True)
            self._schema = self._file.schema_arrow
            self._names = self._schema.names
            groups = [self._file.metadata.row_group(n) for n in range(self._file.num_row_groups)]
        self._rows = [group.num_rows for group in groups]
        self._check_rows(sum(self._rows), self._file.metadata.num_rows)
        # Of all columns: asking pyarrow for one column's size in a damaged footer ends the whole process.
        self._weights = [max(group.total_byte_size, 0) for group in groups]

    def runs(self, size: int, stored: int) -> list[Part]:
        """The row groups in order, in runs of about ``size`` bytes uncompressed; ``stored`` is the file's size."""
        edges, held = [0], 0
        for group, weight in enumerate(self._weights):
            if held >= size:
                edges.append(group)
                held = 0
            held += weight
        total = max(sum(self._weights), 1)
        return [
            Part(start=start, stop=stop, size=stored * sum(self._weights[start:stop]) // total)
            for start, stop in pairwise([*edges, len(self._rows)])
        ]

    def read(self, fields: Fields, limits: Limits, part: Mapping[str, int] | None) -> Iterator[Chunk]:
        """The documents of the row groups in ``part``, or of all.

        Raises ``InputError`` ``no_text_column``, listing the columns, when the text key is not one or holds no text.
        """
        groups = range(len(self._rows)) if part is None else range(part["start"], part["stop"])
        path = self._path(fields.text_key)
        if path is None:
            raise self._no_text(f"no column {fields.text_key!r} (text_key); there are: {', '.join(self._names)}")
        sides = {key: self._path(key) for key in fields.side_keys}
        wanted = [".".join(steps) for steps in (path, *sides.values()) if steps]
        row = sum(self._rows[: groups.start])
        for batch in self._batches(groups, wanted, self._batch_rows(groups)):
            with self._damage():
                given = {key: _plain(batch, steps) for key, steps in sides.items()}
                values = self._bytes(_column(batch, path), fields)
            yield self._chunk(values, given, row, fields, limits)
            row += len(batch)
        self._check_rows(row, sum(self._rows[: groups.stop]))

    def _batches(self, groups: range, wanted: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        with self._damage():
            yield from self._file.iter_batches(rows, row_groups=list(groups), columns=wanted, use_threads=False)

    def _path(self, key: str) -> list[str] | None:
        """The names that lead to a key: a column with dots in its name comes before a field of a struct."""
        if self._names.count(key) > 1:
            raise InputError(f"{self._uri}: two columns are named {key!r}; rename one", "bad_parquet")
        if key in self._names:
            return [key]
        steps = key.split(".")
        kind: pa.DataType = pa.struct(list(self._schema))
        for step in steps:
            if not pa.types.is_struct(kind) or kind.get_field_index(step) < 0:
                return None
            kind = kind.field(step).type
        return steps

    def _batch_rows(self, groups: range) -> int:
        """Rows that hold about a chunk of text, by the group with the longest rows."""
        longest = max((self._weights[n] / max(self._rows[n], 1) for n in groups), default=0)
        return max(1, min(MOST_ROWS, int(CHUNK_BYTES / max(longest, 1))))

    def _bytes(self, column: pa.Array, fields: Fields) -> pa.BinaryArray:
        """The text column as bytes, not yet known to be UTF-8."""
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        if _is_list(kind) and _is_texty(kind.value_type):
            column, kind = pc.binary_join(column.cast(pa.list_(pa.string())), "\n\n"), pa.string()
        if pa.types.is_null(kind):
            return pa.nulls(len(column), pa.binary())
        if not _is_texty(kind):
            raise self._no_text(f"column {fields.text_key!r} (text_key) is {kind}; accepted: {_ACCEPTED}")
        return column.cast(pa.binary())

    def _chunk(
        self, values: pa.BinaryArray, given: Mapping[str, list[Any]], row: int, fields: Fields, limits: Limits
    ) -> Chunk:
        reasons = _faults(values, limits)
        faults = [bad(reason, f"row {row + n}", -1, values[n].as_py()) for n, reason in reasons.items()]
        good = [n for n in range(len(values)) if n not in reasons] if reasons else range(len(values))
        texts = (values.take(pa.array(good, pa.int64())) if reasons else values).cast(pa.string())
        name = base_name(self._uri)
        sides = {key: [column[n] for n in good] for key, column in given.items()}
        return Chunk(documents=fields.batch(texts, sides, (f"{name}:{row + n}" for n in good)), bad=faults)

    def _check_rows(self, found: int, stated: int) -> None:
        if found != stated:
            message = f"{self._uri}: not a sound parquet file: {found} rows, but the footer says {stated}"
            raise InputError(message, "bad_parquet")

    def _no_text(self, what: str) -> InputError:
        return InputError(f"{self._uri}: {what}", "no_text_column")

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            message = f"{self._uri}: not a sound parquet file: {' '.join(str(error).split())}"
            raise InputError(message, "bad_parquet") from error


def _column(batch: pa.RecordBatch, path: list[str]) -> pa.Array:
    column = batch.column(path[0])
    return pc.struct_field(column, path[1:]) if path[1:] else column


def _is_texty(kind: pa.DataType) -> bool:
    types = pa.types
    checks = (types.is_string, types.is_large_string, types.is_string_view)
    binary = (types.is_binary, types.is_large_binary, types.is_binary_view)
    return any(check(kind) for check in checks + binary)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _faults(values: pa.BinaryArray, limits: Limits) -> dict[int, str]:
    """Why rows cannot be used, by position."""
    reasons = dict.fromkeys(_where(values.is_null()), "null_text")
    lengths = pc.binary_length(values)
    reasons |= dict.fromkeys(_where(pc.equal(lengths, 0)), "empty_text")
    if not _is_utf8(values):
        reasons |= {n: "invalid_utf8" for n, value in enumerate(values.to_pylist()) if value and not _decodes(value)}
    for n in _where(pc.greater(lengths, limits.document_chars)):
        if n not in reasons and len(values[n].as_py().decode()) > limits.document_chars:
            reasons[n] = "document_too_long"
    return dict(sorted(reasons.items()))


def _where(mask: pa.BooleanArray) -> Iterable[int]:
    positions: list[int] = pc.indices_nonzero(mask).to_pylist()
    return positions


def _is_utf8(values: pa.BinaryArray) -> bool:
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _plain(batch: pa.RecordBatch, path: list[str] | None) -> list[Any]:
    """Values of a side column; bytes that are not UTF-8 show as escapes, a column that is not there as nulls."""
    if path is None:
        return [None] * len(batch)
    column = _column(batch, path)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not _is_texty(column.type):
        values: list[Any] = column.to_pylist()
        return values
    found = column.cast(pa.binary()).to_pylist()
    return [value if value is None else value.decode("utf-8", "backslashreplace") for value in found]
