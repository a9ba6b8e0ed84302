"""Documents of JSON Lines: one object a line.

A line is judged by itself, never by its neighbours: whatever the standard library's ``json`` makes of it decides,
``NaN`` in a side field included. A whole block is decoded at once where that gives the same answer.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from gristmill.errors import InputError, guessed
from gristmill.sources._limits import Limits
from gristmill.sources._lines import Block
from gristmill.sources._names import base_name
from gristmill.sources._rows import BAD_PER_CHUNK, JOIN, MISSING, Fields, bad, dig, fault_of, splits
from gristmill.sources._streams import UTF8_MARK
from gristmill.sources.base import BadDocument, Chunk

ROWS_TO_FIND_TEXT = 1000
"""A shard whose first objects all lack the text key is given up after this many."""

_KEYS_SHOWN = 20
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_CACHED = 1 << 18
"""Bytes looked at together: what is made of them stays in the processor's cache."""
_MOST_VALUES = 1 << 21
"""A line of more values and names is quarantined: an empty list is 3 bytes of JSON and 64 bytes of memory."""
_DIGITS = 4300
"""The longest integer that Python converts; a longer one is kept as its digits."""

_TYPES = dict.fromkeys((int, float), "numbers") | {
    str: "strings",
    list: "arrays",
    bool: "true or false",
    type(None): "null",
}

_decode_any = json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) <= _DIGITS else digits).decode


class LineReader:
    """Turns blocks of lines into chunks: one instance a shard."""

    def __init__(self, *, fields: Fields, limits: Limits, uri: str, unit: str = "line") -> None:
        """``unit``: what tells one line from the others, ``line`` or ``value`` its number, ``offset`` its place."""
        self._fields, self._limits, self._uri, self._unit = fields, limits, uri, unit
        self._asked = [fields.text_key, *fields.side_keys]
        heads = dict.fromkeys(head for key in self._asked for head in (key, *(head for head, _ in splits(key))))
        names = {head: f"field_{number}" for number, head in enumerate(heads)}
        row = msgspec.defstruct(
            "Row",
            # Of a key with dots it must be known whether it is there: else it is looked for in an object.
            [(name, Any, msgspec.UNSET if "." in head else None) for head, name in names.items()],
            rename={name: head for head, name in names.items()},
            gc=False,
        )
        self._decode = msgspec.json.Decoder(row).decode
        self._getters = [_getter(key, names) for key in self._asked]
        self._text_seen = False
        self._lacking = 0
        self._odd = self._deeper = self._broken = ""
        self._lists = False
        self._keys: dict[str, None] = {}

    def chunks(self, blocks: Iterable[Block]) -> Iterator[Chunk]:
        """The documents of the blocks in order. Blank lines are nothing: neither documents nor bad.

        Raises ``InputError`` ``no_text_column`` when the first 1,000 objects, or all where there are fewer, lack the
        text key.
        """
        for block in blocks:
            lines = block.data.split(b"\n")
            if not lines[-1]:
                lines.pop()
            columns = self._at_once(block, lines)
            if columns is None:
                yield from self._one_by_one(block, lines)
            else:
                self._text_seen = True
                yield self._chunk(columns, self._numbers(block, lines), [])
        if self._lacking and not self._text_seen:
            raise self._no_text()
        if self._broken and not self._text_seen and self._unit == "value":
            raise InputError(
                f"{self._uri}: not JSON Lines but JSON over several lines, and none of its values is sound; the first: "
                f"{self._broken}; mend it, or write one object a line",
                "bad_json",
            )

    def _at_once(self, block: Block, lines: list[bytes]) -> list[list[Any]] | None:
        """The columns of a block without a flaw; None where some line needs a closer look."""
        depth = self._limits.json_depth
        if (
            len(block.data) > min(self._limits.line_bytes, self._limits.document_chars)
            or max(map(len, lines), default=0) > _MOST_VALUES
            or not _is_utf8(block.data)
            or any(_nesting(lines[number]) > depth for number in _bracketed(block.data, lines, depth))
        ):
            return None
        try:
            rows = list(map(self._decode, lines))
        except (msgspec.DecodeError, RecursionError):
            return None
        columns = [list(map(getter, rows)) for getter in self._getters]
        return columns if set(map(type, columns[0])) == {str} and all(columns[0]) else None

    def _one_by_one(self, block: Block, lines: list[bytes]) -> Iterator[Chunk]:
        rows: list[Sequence[Any]] = []
        numbers: list[int] = []
        faults: list[BadDocument] = []
        offset = block.offset
        for line, number in zip(lines, self._numbers(block, lines), strict=True):
            values = self._judge(line) if line.strip(b" \t\r").removeprefix(UTF8_MARK) else None
            if isinstance(values, str):
                faults.append(bad(values, f"{self._unit} {number}", offset, line))
                self._broken = self._broken or values
            elif values is not None:
                rows.append(values)
                numbers.append(number)
            offset += len(line) + 1
            if len(faults) >= BAD_PER_CHUNK:
                yield self._chunk(_columns(rows, len(self._asked)), numbers, faults)
                rows, numbers, faults = [], [], []
        yield self._chunk(_columns(rows, len(self._asked)), numbers, faults)

    def _judge(self, line: bytes) -> str | Sequence[Any]:
        """The values of a line, text first; or why it holds no document."""
        if len(line) > self._limits.line_bytes:
            return "line_too_long"
        line = line.lstrip(b" \t\r").removeprefix(UTF8_MARK)  # files with a mark were put together
        if len(line) > _MOST_VALUES and _values(line) > _MOST_VALUES:
            return "too_many_values"
        if _brackets(line) > self._limits.json_depth and _nesting(line) > self._limits.json_depth:
            return "too_deep"
        try:
            decoded = line.decode()
        except UnicodeDecodeError:
            return "invalid_utf8"
        try:
            row = self._decode(line)
        except (msgspec.DecodeError, RecursionError):
            return self._judge_by_stdlib(decoded)
        values = [getter(row) for getter in self._getters]
        values[0] = self._fields.joined(values[0])
        if fault_of(values[0], self._limits.document_chars):
            return self._judge_by_stdlib(decoded)
        self._text_seen = True
        return values

    def _judge_by_stdlib(self, line: str) -> str | Sequence[Any]:
        try:
            row = _decode_any(line)
        except RecursionError:
            return "too_deep"
        except ValueError:
            return "json_syntax"
        if not isinstance(row, dict):
            self._note_lacking(row)
            return "not_an_object"
        text = self._fields.joined(dig(row, self._asked[0], MISSING))
        if text is MISSING or isinstance(text, list):
            self._lists = self._lists or isinstance(text, list)
            self._note_lacking(row)
        else:
            self._text_seen = True
        fault = fault_of(text, self._limits.document_chars)
        return fault or [text, *(dig(row, key) for key in self._asked[1:])]

    def _note_lacking(self, row: Any) -> None:
        """Keep what is said of a shard whose first values all lack the text."""
        self._lacking += 1
        for key, value in row.items() if isinstance(row, dict) else ():
            inner = [f"{key}.{name}" for name in value] if isinstance(value, dict) else []
            self._keys.update(dict.fromkeys([key, *inner]) if len(self._keys) < _KEYS_SHOWN else {})
            if isinstance(value, list) and isinstance(next(iter(value), None), dict):
                self._deeper = self._deeper or key
        if not isinstance(row, dict):
            self._odd = self._odd or _TYPES[type(row)]
        if self._lacking >= ROWS_TO_FIND_TEXT and not self._text_seen:
            raise self._no_text()

    def _no_text(self) -> InputError:
        key, found = self._fields.text_key, list(self._keys)[:_KEYS_SHOWN]
        if self._lists:
            what = f"the key {key!r} (text_key) holds a list; accepted: a string, or {JOIN}"
        elif self._odd and not found:
            each = ".[] | {text: .}" if self._unit == "value" else "{text: .}"
            what = (
                f"holds {self._odd} where objects with the key {key!r} (text_key) are needed; write one object a line, "
                f"of strings by jq -c '{each}'"
            )
        else:
            keys = ", ".join(f"{name!a:.60}" for name in found) or "none"
            what = f"no row has the key {key!r} (text_key); keys that are there: {keys}"
            guess = guessed(key, self._keys)
            what += f"; {guess}" if guess else ""
        if self._deeper:
            path = json.dumps(self._deeper)
            what += f"; if {self._deeper!a:.60} holds the documents, write one a line: jq -c '.[{path}][]'"
        return InputError(f"{self._uri}: {what}", "no_text_column")

    def _numbers(self, block: Block, lines: list[bytes]) -> Iterable[int]:
        """What tells a line from the others: its number, or its offset in a range of a file."""
        if self._unit == "offset":
            return accumulate((len(line) + 1 for line in lines[:-1]), initial=block.offset)
        return range(block.line, block.line + len(lines))

    def _chunk(self, columns: list[list[Any]], numbers: Iterable[int], faults: list[BadDocument]) -> Chunk:
        name = base_name(self._uri)
        sides = dict(zip(self._fields.side_keys, columns[1:], strict=True))
        own_ids = (f"{name}:{number}" for number in numbers)
        return Chunk(documents=self._fields.batch(columns[0], sides, own_ids), bad=faults)


def _getter(key: str, names: dict[str, str]) -> Callable[[Any], Any]:
    if "." not in key:
        return attrgetter(names[key])
    heads = {head: names[head] for head in (key, *(head for head, _ in splits(key)))}

    def get(row: Any) -> Any:
        values = {head: getattr(row, name) for head, name in heads.items()}
        return dig({head: value for head, value in values.items() if value is not msgspec.UNSET}, key)

    return get


def _columns(rows: list[Sequence[Any]], count: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(count)]


def _is_utf8(data: bytes) -> bool:
    """The decoder does not look into strings that it skips; the standard library would."""
    if data.isascii():
        return True
    offsets = pa.py_buffer(np.array([0, len(data)], np.int32))
    try:
        pa.StringArray.from_buffers(1, offsets, pa.py_buffer(data)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _brackets(line: bytes) -> int:
    return line.count(b"[") + line.count(b"{")


def _bracketed(data: bytes, lines: list[bytes], most: int) -> list[int]:
    """Which of the ``lines`` of ``data`` hold more than ``most`` opening brackets: 3 GB/s, where looking at line after
    line makes 1."""
    raw = np.frombuffer(data, np.uint8)
    found = [np.empty(0, np.int64)]
    for start in range(0, len(raw), _CACHED):
        found.append(np.flatnonzero((raw[start : start + _CACHED] | 0x20) == 0x7B) + start)  # "[" and "{" but for a bit
    ends = np.cumsum([len(line) + 1 for line in lines])
    counts = np.diff(np.searchsorted(np.concatenate(found), ends), prepend=0)
    return np.flatnonzero(counts > most).tolist()


def _values(line: bytes) -> int:
    """About how many values and names a line holds: never fewer than half of those that are there."""
    if line.count(b",") + _brackets(line) <= _MOST_VALUES:
        return 0
    plain = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    if (strings := plain.count(b'"') // 2) > _MOST_VALUES:
        return strings
    outside = b"".join(plain.split(b'"')[::2])
    return outside.count(b",") + _brackets(outside)


def _nesting(line: bytes) -> int:
    """How deep objects and arrays nest, brackets inside strings left out."""
    outside = b"".join(line.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    steps = (1 if byte in b"[{" else -1 for byte in outside.translate(None, _NOT_BRACKETS))
    return max(accumulate(steps), default=0)
