"""Cutting a stream of bytes into blocks of whole lines, and a plain file into ranges of them.

A line ends at a line feed byte and nowhere else: U+2028, U+0085 and vertical tabs are text.
"""

from collections.abc import Iterator

from gristmill.sources._rows import CHUNK_BYTES
from gristmill.sources._streams import PIECE, Raw, Text, unmarked
from gristmill.types import Value


class Block(Value, frozen=True, kw_only=True):
    """Whole lines that follow one another."""

    data: bytes
    offset: int
    """Of the first byte in the decompressed file."""
    line: int
    """Number of the first line; the stream's first is 1."""


class _Pile:
    """Bytes that wait to become a block."""

    def __init__(self, offset: int) -> None:
        self.offset, self.line = offset, 1
        self.held: list[bytes] = []
        self.size = 0
        self.lost = 0
        """Bytes of the last line that were not kept."""

    def add(self, data: bytes) -> None:
        self.held.append(data)
        self.size += len(data)

    def block(self) -> Block:
        block = Block(data=b"".join(self.held), offset=self.offset, line=self.line)
        self.offset += self.size + self.lost
        self.line += block.data.count(b"\n")
        self.held, self.size, self.lost = [], 0, 0
        return block


def blocks(text: Text, *, line_bytes: int, size: int = CHUNK_BYTES) -> Iterator[Block]:
    """Cut a stream after line feeds into blocks of about ``size`` bytes; only the last may lack the final line feed.

    A line longer than ``line_bytes`` ends its block and keeps only a little more than that, so that whoever reads it
    sees that it is too long: memory is bounded by ``size`` + ``line_bytes`` + two pieces, whatever the file holds.
    """
    pile = _Pile(text.start)
    unfinished = 0
    for piece in text.pieces:
        if unfinished > line_bytes:
            end = piece.find(b"\n")
            pile.lost += end if end >= 0 else len(piece)
            if end < 0:
                continue
            pile.add(b"\n")
            yield pile.block()
            piece, unfinished = piece[end + 1 :], 0
        cut = piece.rfind(b"\n") + 1
        pile.add(piece[:cut])
        if cut and pile.size >= size:
            yield pile.block()
        pile.add(piece[cut:])
        unfinished = len(piece) - cut + (0 if cut else unfinished)
    if pile.size:
        yield pile.block()


def ranged(raw: Raw, *, start: int, stop: int, piece: int = PIECE) -> Text:
    """The lines of a plain file whose first byte lies in the half-open range: ranges that tile the file give each
    line exactly once."""
    if start == 0:
        return unmarked(_until(raw, 0, stop, piece), raw.uri)
    first = _line_start(raw, start, stop, piece)
    return Text(start=first, pieces=_until(raw, first, stop, piece))


def _line_start(raw: Raw, start: int, stop: int, piece: int) -> int:
    """Offset of the first line that starts at or after ``start``; some offset past ``stop`` where there is none."""
    offset = start - 1
    raw.seek(offset)
    while offset < stop and (data := raw.read(piece)):
        end = data.find(b"\n")
        if end >= 0:
            return offset + end + 1
        offset += len(data)
    return max(offset, stop)


def _until(raw: Raw, offset: int, stop: int, piece: int) -> Iterator[bytes]:
    """From ``offset``, a line start, to the end of the line that holds byte ``stop - 1``."""
    if offset >= stop:
        return
    raw.seek(offset)
    while data := raw.read(piece):
        end = data.find(b"\n", max(stop - 1 - offset, 0))
        if end >= 0:
            yield data[: end + 1]
            return
        yield data
        offset += len(data)
