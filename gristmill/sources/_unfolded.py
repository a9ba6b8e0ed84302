"""JSON values that are not one a line, as lines: arrays of objects, indented objects, objects side by side.

The bytes are rewritten a piece at a time, so that an array of any size is read in bounded memory: every document
becomes a line, and what reads JSON Lines reads the rest. A byte stays where it is, so offsets are those of the file.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from gristmill.errors import InputError
from gristmill.sources._streams import PIECE, UTF8_MARK, Text

_FEED, _SPACE = b"\n "
_OPEN, _CLOSE, _COMMA, _QUOTE, _END = range(1, 6)
_MARKS = bytes(
    {91: _OPEN, 123: _OPEN, 93: _CLOSE, 125: _CLOSE, 44: _COMMA, 34: _QUOTE, 10: _END}.get(n, 0) for n in range(256)
)
_BETWEEN = np.zeros(256, bool)
_BETWEEN[list(b" \t\r\n,")] = True


def as_lines(text: Text, uri: str) -> tuple[Text, str]:
    """The stream as lines of one value each, and what their numbers count: ``line``, or ``value`` where the stream is
    not JSON Lines.

    Reading raises ``InputError`` ``bad_json`` where a value is cut or a string goes over the end of a line.
    """
    head = b""
    while len(head) < PIECE and (piece := next(text.pieces, b"")):
        head += piece
    pieces = chain([head], text.pieces)
    if is_lines(head):
        return Text(start=text.start, pieces=pieces), "line"
    return Text(start=text.start, pieces=_Unfolder(uri, text.start).lines(pieces)), "value"


def is_lines(head: bytes) -> bool:
    """Whether the first bytes of a file are those of JSON Lines: its first line is a value, or broken as one."""
    line, feed, rest = head.removeprefix(UTF8_MARK).lstrip().partition(b"\n")
    if not line.startswith((b"{", b"[")):
        return True
    found = _decoded(line)
    if isinstance(found, list):
        rest = rest.lstrip().removeprefix(UTF8_MARK).lstrip()
        return bool(rest) and not rest.startswith(b"[")
    if found != "goes on":
        return bool(found != "has more")
    if line.startswith(b"["):
        return bool(feed) and _ends_in_string(line)
    return not feed or _ends_in_string(line) or isinstance(_decoded(rest.lstrip().partition(b"\n")[0]), dict)


def _decoded(line: bytes) -> Any:
    """The value, or ``goes on`` where its end is missing, ``has more`` where another one follows it, ``broken``."""
    try:
        return msgspec.json.decode(line)
    except RecursionError:
        return "broken"
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            return "goes on"
        _, found, place = str(error).partition("trailing characters (byte ")
        more = line[int(place.rstrip(")")) - 1 :].lstrip(b", \t\r") if found else b"x"
        return "has more" if not more or more.startswith((b"{", b"[")) else "broken"


def _ends_in_string(line: bytes) -> bool:
    return _without_escapes(line).count(b'"') % 2 == 1


def _without_escapes(data: bytes) -> bytes:
    """With spaces for escaped backslashes and quotes: every quote that is left begins or ends a string."""
    return data.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")


class _Unfolder:
    """Line feeds for what stands between documents, spaces for the line feeds and brackets around them."""

    def __init__(self, uri: str, start: int) -> None:
        self._uri, self._offset = uri, start
        self._depth = self._inside = self._outermost = 0
        self._due = False
        """A line feed is to follow the object that ended the last piece."""

    def lines(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        rest = b""
        for piece in pieces:
            data = rest + piece
            odd = (len(data) - len(data.rstrip(b"\\"))) % 2  # an escape must not be cut
            data, rest = data[: len(data) - odd], data[len(data) - odd :]
            if data:
                yield self._turned(data)
                self._offset += len(data)
        if rest or self._depth or self._inside:
            raise self._error("it ends in the middle of a JSON value", 0)

    def _turned(self, data: bytes) -> bytes:
        plain = _without_escapes(data)
        raw, kinds = np.frombuffer(plain, np.uint8), np.frombuffer(plain.translate(_MARKS), np.uint8)
        out = np.frombuffer(data, np.uint8).copy()
        marks = np.flatnonzero(kinds != 0)
        kinds = kinds[marks]
        inside = (np.cumsum(kinds == _QUOTE) + self._inside) & 1
        feeds = kinds == _END
        if inside[feeds].any():
            raise self._error("a string goes over the end of a line", int(marks[feeds & (inside == 1)][0]))
        out[marks[feeds]] = _SPACE
        outside = (inside == 0) & (kinds <= _COMMA)
        self._inside = int(inside[-1]) if len(inside) else self._inside
        marks, kinds = marks[outside], kinds[outside]
        steps = (kinds == _OPEN).astype(np.int64) - (kinds == _CLOSE)
        depth = np.cumsum(steps) + self._depth
        if (depth < 0).any():
            raise self._error("a bracket closes that was not opened", int(marks[(depth < 0).argmax()]))
        opened, closed = marks[(steps > 0) & (depth == 1)], marks[(steps < 0) & (depth == 0)]
        commas = marks[(steps == 0) & (depth == 1)]
        outermost = np.concatenate([[self._outermost], raw[opened]])
        out[commas[outermost[np.searchsorted(opened, commas)] == ord("[")]] = _FEED
        out[marks[(steps == 0) & (depth == 0)]] = _SPACE
        out[opened[raw[opened] == ord("[")]] = _SPACE
        out[closed[raw[closed] == ord("]")]] = _FEED
        after = np.concatenate([[0] if self._due else [], closed[raw[closed] == ord("}")] + 1]).astype(np.int64)
        self._due = bool(len(after)) and int(after[-1]) == len(raw)
        after = after[after < len(raw)]
        free = _BETWEEN[raw[after]]
        out[after[free]] = _FEED
        self._depth = int(depth[-1]) if len(depth) else self._depth
        self._outermost = int(outermost[-1])
        # Objects without a byte between them: the only line feeds that are added, and offsets that move.
        return (np.insert(out, after[~free], _FEED) if not free.all() else out).tobytes()

    def _error(self, what: str, place: int) -> InputError:
        return InputError(
            f"{self._uri}: not JSON Lines but JSON over several lines, and not sound at byte {self._offset + place}: "
            f"{what}; mend it, or write one object a line",
            "bad_json",
        )
