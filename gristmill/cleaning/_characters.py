"""What kind of character each code point is, as one table that a whole batch is looked up in."""

import unicodedata
from functools import cache

import numpy as np

from gristmill.cleaning._utf8 import Bytes

SPACE, LETTER, ALNUM, SYMBOL, BREAK, SOLO, JOINED = (1 << bit for bit in range(7))
"""The flags of a class. SPACE: ``str.isspace``. LETTER: ``str.isalpha``. ALNUM: a letter or a number. SYMBOL:
categories P and S. BREAK: ends a word (white space, and punctuation of scripts without spaces). SOLO: a word of its
own (ideographs, kana, and the syllables of Thai, Lao, Burmese and Khmer). JOINED: a mark that belongs to the SOLO
before it."""

_UNSPACED = (
    (0x0E00, 0x0F00),  # Thai, Lao
    (0x1000, 0x10A0),  # Burmese
    (0x1780, 0x1800),  # Khmer
    (0x19E0, 0x1A00),  # Khmer symbols
    (0x3005, 0x3008),  # iteration mark, closing mark, zero
    (0x3041, 0x3130),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31C0),  # Bopomofo extended
    (0x31F0, 0x3200),  # Katakana extensions
    (0x3400, 0x4DC0),  # Han extension A
    (0x4E00, 0xA000),  # Han
    (0xA9E0, 0xAA00),  # Burmese extended B
    (0xAA60, 0xAA80),  # Burmese extended A
    (0xF900, 0xFB00),  # Han compatibility
    (0xFF66, 0xFFA0),  # half-width Katakana
    (0x1AFF0, 0x1B170),  # historic kana
    (0x20000, 0x32000),  # Han extensions B to H
)
_WIDE_PUNCTUATION = (
    (0x0F00, 0x1000),  # Tibetan: a mark between syllables
    (0x1361, 0x1362),  # Ethiopic: a mark between words
    (0x3000, 0x3040),
    (0xFE30, 0xFE50),
    (0xFF00, 0xFFF0),
)
_SPACING_VOWELS = (0x0E33, 0x0EB3)
"""Thai and Lao AM: letters by category that extend the syllable before them (Unicode Standard Annex 29)."""
_SURVEYED = (*range(0x32000), *range(0xE0000, 0xE0200))
"""Above these no letter, mark, space or punctuation is assigned."""


@cache
def classes() -> Bytes:
    """Flags by code point; built once a process, in about 0.2 s, from the Unicode tables of the interpreter."""
    table = np.zeros(0x110000, np.uint8)
    for code in _SURVEYED:
        table[code] = _flags(chr(code))
    for start, stop in _UNSPACED:
        block = table[start:stop]
        marks = np.array([unicodedata.category(chr(code))[0] == "M" for code in range(start, stop)])
        letters = (block & LETTER) > 0
        block[letters] |= SOLO
        block[marks] |= JOINED
    table[0x3007] |= SOLO
    table[list(_SPACING_VOWELS)] ^= SOLO | JOINED
    for start, stop in (*_UNSPACED, *_WIDE_PUNCTUATION):
        block = table[start:stop]
        block[(block & SYMBOL) > 0] |= BREAK
    return table


def _flags(char: str) -> int:
    flags = 0
    if char.isspace():
        flags |= SPACE | BREAK
    if char.isalpha():
        flags |= LETTER
    if char.isalnum():
        flags |= ALNUM
    if unicodedata.category(char)[0] in "PS":
        flags |= SYMBOL
    return flags
