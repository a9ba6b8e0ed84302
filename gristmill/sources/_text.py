"""Documents of plain text: a whole file, or the pieces between separators."""

from collections.abc import Iterator
from itertools import chain
from re import Pattern

from gristmill.sources._limits import Limits
from gristmill.sources._names import base_name
from gristmill.sources._rows import BAD_PER_CHUNK, CHUNK_BYTES, Fields, bad, fault_of
from gristmill.sources._streams import UTF8_MARK, Text
from gristmill.sources.base import BadDocument, Chunk
from gristmill.text import whitespace
from gristmill.types import Value


class Passage(Value, frozen=True, kw_only=True):
    """The bytes of one document, or of one too long the first of them."""

    data: bytes
    offset: int
    """Of its first byte in the decompressed file."""
    line: int
    """Number of the line it starts in, from 1."""


def passages(text: Text, *, between: Pattern[bytes] | None, longest: int = 0, most: int) -> Iterator[Passage]:
    """What stands ``between`` separators of at most ``longest`` bytes, found from the left; all of it where there are
    none.

    Of a passage longer than ``most`` bytes only the first ``most + 1`` are kept, so memory is bounded.
    """
    buffer, head = bytearray(), b""
    offset, line, lost, lost_lines = text.start, 1, 0, 0
    for piece in chain(text.pieces, [b""]):
        seen = max(len(buffer) - longest, 0)
        buffer += piece
        while between and (found := between.search(buffer, seen)):
            if piece and found.end() == len(buffer):
                break  # a carriage return whose line feed may follow
            yield Passage(data=head or bytes(buffer[: found.start()]), offset=offset, line=line)
            stop = found.end()
            offset, line = offset + lost + stop, line + lost_lines + _lines(buffer[:stop])
            del buffer[:stop]
            head, seen, lost, lost_lines = b"", 0, 0, 0
        if len(buffer) > most + longest + 1:
            head = head or bytes(buffer[: most + 1])
            excess = len(buffer) - longest - 1
            excess -= buffer[excess - 1 : excess + 1] == b"\r\n"
            lost, lost_lines = lost + excess, lost_lines + _lines(buffer[:excess])
            del buffer[:excess]
    yield Passage(data=head or bytes(buffer), offset=offset, line=line)


def _lines(data: bytes | bytearray) -> int:
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def read(text: Text, *, fields: Fields, limits: Limits, uri: str, separator: str | None) -> Iterator[Chunk]:
    """Documents named ``<file name>:<line it starts in>``. Blank pieces between separators are nothing; a whole file
    that is empty is a document without text."""
    name = base_name(uri)
    texts: list[str] = []
    ids: list[str] = []
    faults: list[BadDocument] = []
    size = 0
    between = None if separator is None else whitespace.separator(separator)
    longest = 2 * len((separator or "").encode())  # a line feed may stand for CRLF
    for passage in passages(text, between=between, longest=longest, most=4 * limits.document_chars):
        if separator and not passage.data.strip().removeprefix(UTF8_MARK).strip():
            continue
        found = _judge(passage.data, limits)
        if found.reason:
            faults.append(bad(found.reason, f"line {passage.line}", passage.offset, passage.data))
        else:
            texts.append(found.text)
            ids.append(f"{name}:{passage.line}")
            size += len(passage.data)
        if size >= CHUNK_BYTES or len(faults) >= BAD_PER_CHUNK:
            yield _chunk(texts, ids, faults, fields)
            texts, ids, faults, size = [], [], [], 0
    yield _chunk(texts, ids, faults, fields)


class _Judged(Value, frozen=True, kw_only=True):
    text: str = ""
    reason: str = ""


def _judge(data: bytes, limits: Limits) -> _Judged:
    if len(data) > 4 * limits.document_chars:
        return _Judged(reason="document_too_long")
    if data.lstrip().startswith(UTF8_MARK):
        data = data.replace(UTF8_MARK, b"", 1)  # files with a mark were put together
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _Judged(reason="invalid_utf8")
    return _Judged(text=text, reason=fault_of(text, limits.document_chars))


def _chunk(texts: list[str], ids: list[str], faults: list[BadDocument], fields: Fields) -> Chunk:
    sides = {key: [None] * len(texts) for key in fields.side_keys}
    return Chunk(documents=fields.batch(texts, sides, ids), bad=faults)
