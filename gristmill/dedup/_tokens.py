"""Words and characters of many texts at once, as spans of one folded buffer, and a 64-bit hash of each.

The folded form: ASCII letters in lower case; everything in ``SEPARATORS`` is a separator; all else, other scripts and
their punctuation included, is kept as it is. There is no Unicode case folding: it would cost more than all the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xxhash

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

SEPARATORS = (
    (0x00, 0x2F),  # controls, space, ! " # $ % & ' ( ) * + , - . /
    (0x3A, 0x40),  # : ; < = > ? @
    (0x5B, 0x60),  # [ \ ] ^ _ `
    (0x7B, 0xBF),  # { | } ~ DEL, C1 controls, Latin-1 signs
    (0x2000, 0x206F),  # general punctuation: typographic quotes, dashes, ellipsis, spaces, marks of direction
    (0x3000, 0x303F),  # CJK punctuation
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFF00, 0xFF0F),  # full-width forms of the ASCII punctuation
    (0xFF1A, 0xFF20),
    (0xFF3B, 0xFF40),
    (0xFF5B, 0xFF65),
)
"""Inclusive ranges of code points."""

_SEPARATOR = np.zeros(1 << 16, np.bool_)
for _first, _last in SEPARATORS:
    _SEPARATOR[_first : _last + 1] = True
_FOLD = bytes(0 if code < 0x80 and _SEPARATOR[code] else ord(chr(code).lower()) for code in range(0xC0)) + bytes(
    range(0xC0, 0x100)
)
_LEADS = (0xC2, 0xE2, 0xE3, 0xEF)
"""First bytes of the separators beyond ASCII."""
_LENGTH = np.array([1] * 0xC0 + [2] * 0x20 + [3] * 0x10 + [4] * 0x10, np.int64)
"""Bytes of a character by its first byte."""
_PADDING = bytes(16)
"""Behind the last text, so that eight bytes can be read at any token."""
_LONG = 64
"""Bytes of a word hashed eight at a time for all words at once; what is beyond (rare) is hashed word by word."""
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens in text order; token ``i`` is ``data[starts[i]:stops[i]]`` and holds no zero byte."""

    data: Bytes
    """Folded texts, every byte of a separator zero, and padding."""
    starts: Ints
    stops: Ints
    offsets: Ints
    """Tokens ``offsets[d]`` to ``offsets[d + 1]`` are those of text ``d``."""
    glue: bytes
    """What stands between two tokens where a shingle is spelled: a space, or nothing between characters."""

    def hashes(self) -> Hashes:
        """A hash of each token's bytes; the little-endian reading is the same on every platform."""
        blocks = np.ndarray((len(self.data) - 7,), "<u8", self.data, strides=(1,))
        lengths = self.stops - self.starts
        found = _mix(_block(blocks, self.starts, lengths))
        longer = np.flatnonzero(lengths > 8)
        for done in range(8, _LONG, 8):
            more = _block(blocks, self.starts[longer] + done, lengths[longer] - done)
            found[longer] = _mix(found[longer] ^ more)
            longer = longer[lengths[longer] > done + 8]
        for place in longer.tolist():
            rest = self.data[self.starts[place] + _LONG : self.stops[place]].data
            found[place] = xxhash.xxh3_64_intdigest(rest, seed=int(found[place]))
        return found

    def without_last(self) -> "Tokens":
        """The tokens of a single text but for the last one."""
        return Tokens(self.data, self.starts[:-1], self.stops[:-1], np.array([0, len(self.starts) - 1]), self.glue)

    def joined(self) -> tuple[bytes, Ints, Ints]:
        """All tokens with the glue after each, and where each starts and stops in that."""
        lengths = self.stops - self.starts
        stops = np.cumsum(lengths + len(self.glue)) - len(self.glue)
        kept = self.data != 0
        if self.glue:
            kept[1:] |= kept[:-1].copy()
        return self.data[kept].tobytes().replace(b"\0", self.glue), stops - lengths, stops


def words(texts: Sequence[memoryview]) -> Tokens:
    """The maximal runs of bytes without a separator."""
    data, firsts = _folded(texts)
    inside = data != 0
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    starts, stops = edges[::2], edges[1::2]
    return Tokens(data, starts, stops, np.searchsorted(starts, firsts), b" ")


def characters(texts: Sequence[memoryview]) -> Tokens:
    """The single characters that are no separators: neither a line break nor punctuation parts a shingle."""
    data, firsts = _folded(texts)
    starts = np.flatnonzero(((data & 0xC0) != 0x80) & (data != 0))
    return Tokens(data, starts, starts + _LENGTH[data[starts]], np.searchsorted(starts, firsts), b"")


def _folded(texts: Sequence[memoryview]) -> tuple[Bytes, Ints]:
    """The buffer, with a zero before and after each text, and where in it each text starts; the last is its end."""
    joined = bytearray(b"\0").join([b"", *texts, _PADDING])
    data = np.frombuffer(joined.translate(_FOLD), np.uint8)
    lengths = np.array([1, *(len(text) + 1 for text in texts)], np.int64)
    wide = np.zeros(len(data), np.bool_)
    for lead in _LEADS:
        wide |= data == lead
    _blank_wide(data, np.flatnonzero(wide))
    return data, np.cumsum(lengths)


def _blank_wide(data: Bytes, places: Ints) -> None:
    """Zero the separators of two and three bytes among the characters that start at ``places``."""
    first, second, third = (data[places + further].astype(np.int64) for further in range(3))
    two = first == 0xC2
    codes = np.where(two, second, (first & 0x0F) << 12 | (second & 0x3F) << 6 | (third & 0x3F))
    found = _SEPARATOR[codes]
    places, two = places[found], two[found]
    data[places] = 0
    data[places + 1] = 0
    data[places[~two] + 2] = 0


def _block(blocks: Hashes, starts: Ints, lengths: Ints) -> Hashes:
    """Up to eight bytes from each start, as a number whose highest byte is the last one read."""
    unused = np.maximum(8 - lengths, 0) << 3
    block: Hashes = blocks[starts] << unused.astype(np.uint64)
    return block


def _mix(values: Hashes) -> Hashes:
    """A bijection, in place: every bit of the result depends on all bits of the value."""
    values *= _FIRST
    values ^= values >> _HALF
    values *= _SECOND
    values ^= values >> _HALF
    return values
