"""Documents of parquet files, a bounded record batch at a time, only the columns asked for."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from gristmill.columns import numbers
from gristmill.errors import InputError, alternatives
from gristmill.sources._batches import Batches, opened, weight
from gristmill.sources._found import Part
from gristmill.sources._limits import Limits
from gristmill.sources._names import base_name
from gristmill.sources._rows import JOIN, Fields, bad, splits
from gristmill.sources._streams import Raw
from gristmill.sources._values import is_texty, plain
from gristmill.sources.base import Chunk

_MOST_BYTES = 4
"""Of a character in UTF-8: what weighs more than so many bytes for each that is allowed need not be decoded."""
_ACCEPTED = f"string, large_string, string_view, binary, a dictionary of these, or {JOIN}"


class Table:
    """An open parquet file. Raises ``InputError`` ``bad_parquet`` wherever it is damaged."""

    def __init__(self, raw: Raw) -> None:
        if not raw.seekable():
            raise InputError(f"{raw.uri}: parquet needs a server that serves byte ranges; download the file first")
        self._raw, self._uri = raw, raw.uri
        with self._damage():
            self._file = opened(raw)
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
        for group, encoded in enumerate(self._weights):
            if held >= size:
                edges.append(group)
                held = 0
            held += encoded
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
        path = self.text_path(fields)
        sides = {key: self._path(key) for key in fields.side_keys}
        wanted = [".".join(steps) for steps in (path, *sides.values()) if steps]
        row = first = sum(self._rows[: groups.start])
        count = max(1, sum(self._rows[groups.start : groups.stop]))
        for batch in self._batches(groups, wanted, limits):
            with self._damage():
                given = {key: self._side(batch, key, steps, limits) for key, steps in sides.items()}
                values = self._bytes(_column(batch, path), fields, limits)
            share = (row + len(batch) - first) / count
            yield replace(self._chunk(values, given, row, fields, limits), share=share)
            row += len(batch)
        self._check_rows(row, sum(self._rows[: groups.stop]))

    def text_path(self, fields: Fields) -> list[str]:
        """The names that lead to the text; raises as ``read`` does."""
        path = self._path(fields.text_key)
        check_text(self._schema, path, fields, self._uri)
        return path or []

    def _batches(self, groups: range, wanted: list[str], limits: Limits) -> Iterator[pa.RecordBatch]:
        with self._damage():
            yield from Batches(self._raw, self._uri, self._file.metadata, wanted, limits).read(groups, self._weights)

    def _side(self, batch: pa.RecordBatch, key: str, path: list[str] | None, limits: Limits) -> list[Any]:
        """Values of a side column; nulls for one that is not there."""
        if path is None:
            return [None] * len(batch)
        column = _column(batch, path)
        if len(column) == 1 and weight(column) > _MOST_BYTES * limits.document_chars:
            raise InputError(f"{self._uri}: a value of {key!r} is over {limits.document_chars} characters", "limit")
        return plain(column)

    def _path(self, key: str) -> list[str] | None:
        """The names that lead to a key."""
        if self._names.count(key) > 1:
            raise InputError(f"{self._uri}: two columns are named {key!r}; rename one", "bad_parquet")
        return steps_to(pa.struct(list(self._schema)), key)

    def _bytes(self, column: pa.Array, fields: Fields, limits: Limits) -> pa.BinaryArray:
        """The text column as bytes, not yet known to be UTF-8."""
        kind = _decoded(column.type)
        if pa.types.is_null(kind):
            return pa.nulls(len(column), pa.binary())
        if _is_list(kind) and len(column) == 1 and weight(column) > _MOST_BYTES * limits.document_chars:
            column = _head(column, _MOST_BYTES * limits.document_chars)
        between = pa.scalar((fields.text_join or "").encode(), pa.binary())
        column = _undictionary(column)
        return pc.binary_join(column, between) if _is_list(kind) else column

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

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            message = f"{self._uri}: not a sound parquet file: {' '.join(str(error).split())}"
            raise InputError(message, "bad_parquet") from error


def steps_to(kind: pa.DataType, key: str) -> list[str] | None:
    """The names of the fields that lead to a key, found as ``dig`` does; None where there is none."""
    if not pa.types.is_struct(kind):
        return None
    if kind.get_field_index(key) >= 0:
        return [key]
    for head, tail in splits(key):
        if kind.get_field_index(head) >= 0 and (steps := steps_to(kind.field(head).type, tail)):
            return [head, *steps]
    return None


def check_text(schema: pa.Schema, path: list[str] | None, fields: Fields, uri: str) -> None:
    """Raises ``InputError`` ``no_text_column`` where the column that the steps lead to is none or holds no text."""
    if path is None:
        what = f"no column {fields.text_key!r} (text_key); {alternatives(fields.text_key, schema.names)}"
        raise InputError(f"{uri}: {what}", "no_text_column")
    kind: pa.DataType = pa.struct(list(schema))
    for step in path:
        kind = kind.field(step).type
    inner = _decoded(kind.value_type) if fields.text_join is not None and _is_list(kind) else _decoded(kind)
    if not is_texty(inner) and not pa.types.is_null(kind):
        what = f"column {fields.text_key!r} (text_key) is {kind}; accepted: {_ACCEPTED}"
        raise InputError(f"{uri}: {what}", "no_text_column")


def _column(batch: pa.RecordBatch, path: list[str]) -> pa.Array:
    column = batch.column(path[0])
    return pc.struct_field(column, path[1:]) if path[1:] else column


def _decoded(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _head(column: pa.Array, size: int) -> pa.Array:
    """The one list of a column, cut after the string that makes it longer than ``size`` bytes."""
    strings = column.flatten()
    whole = strings.dictionary if pa.types.is_dictionary(strings.type) else strings
    lengths = pc.binary_length(whole).cast(pa.int64())
    taken = lengths.take(strings.indices) if pa.types.is_dictionary(strings.type) else lengths
    sums = np.cumsum(pc.fill_null(taken, 0).to_numpy(zero_copy_only=False))
    count = min(int(np.searchsorted(sums, size, side="right")) + 1, len(strings))
    return pa.ListArray.from_arrays(numbers(np.array([0, count], np.int32)), strings.slice(0, count))


def _undictionary(column: pa.Array) -> pa.Array:
    """Strings as bytes, lists of strings as lists of bytes, dictionaries of either decoded; no text is looked at."""
    if pa.types.is_dictionary(column.type):
        return column.dictionary.cast(pa.binary()).take(column.indices)
    if not _is_list(column.type):
        return column.cast(pa.binary())
    lengths = pc.fill_null(pc.list_value_length(column), 0).cast(pa.int32())
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(lengths.to_numpy(zero_copy_only=False), out=offsets[1:])
    edges = numbers(offsets)
    return pa.ListArray.from_arrays(edges, _undictionary(column.flatten()), mask=column.is_null())


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
