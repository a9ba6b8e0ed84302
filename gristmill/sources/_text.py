"""Documents of plain text: a whole file, or the pieces between separators."""

from collections.abc import Iterator

from gristmill.sources._limits import Limits
from gristmill.sources._names import base_name
from gristmill.sources._rows import BAD_PER_CHUNK, CHUNK_BYTES, Fields, bad, fault_of
from gristmill.sources._streams import Text
from gristmill.sources.base import BadDocument, Chunk
from gristmill.types import Value


class Passage(Value, frozen=True, kw_only=True):
    """The bytes of one document, or of one too long the first of them."""

    data: bytes
    offset: int
    """Of its first byte in the decompressed file."""
    line: int
    """Number of the line it starts in, from 1."""


def passages(text: Text, *, separator: bytes, most: int) -> Iterator[Passage]:
    """What stands between separators, found from the left; an empty separator never occurs.

    Of a passage longer than ``most`` bytes only the first ``most + 1`` are kept, so memory is bounded.
    """
    buffer, head = bytearray(), b""
    offset, line, lost, lost_lines = text.start, 1, 0, 0
    for piece in text.pieces:
        seen = max(len(buffer) - len(separator) + 1, 0)
        buffer += piece
        while separator and (end := buffer.find(separator, seen)) >= 0:
            yield Passage(data=head or bytes(buffer[:end]), offset=offset, line=line)
            stop = end + len(separator)
            offset, line = offset + lost + stop, line + lost_lines + buffer.count(b"\n", 0, stop)
            del buffer[:stop]
            head, seen, lost, lost_lines = b"", 0, 0, 0
        if len(buffer) > most + len(separator):
            head = head or bytes(buffer[: most + 1])
            excess = len(buffer) - len(separator)
            lost, lost_lines = lost + excess, lost_lines + buffer.count(b"\n", 0, excess)
            del buffer[:excess]
    yield Passage(data=head or bytes(buffer), offset=offset, line=line)


def read(text: Text, *, fields: Fields, limits: Limits, uri: str, separator: str | None) -> Iterator[Chunk]:
    """Documents named ``<file name>:<line it starts in>``. Blank pieces between separators are nothing; a whole file
    that is empty is a document without text."""
    name = base_name(uri)
    texts: list[str] = []
    ids: list[str] = []
    faults: list[BadDocument] = []
    size = 0
    for passage in passages(text, separator=(separator or "").encode(), most=4 * limits.document_chars):
        if separator and not passage.data.strip():
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
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _Judged(reason="invalid_utf8")
    return _Judged(text=text, reason=fault_of(text, limits.document_chars))


def _chunk(texts: list[str], ids: list[str], faults: list[BadDocument], fields: Fields) -> Chunk:
    sides = {key: [None] * len(texts) for key in fields.side_keys}
    return Chunk(documents=fields.batch(texts, sides, ids), bad=faults)
