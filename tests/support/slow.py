"""The words, lines and sentences of one text in plain Python: what the arrays are compared with."""

import unicodedata
from functools import cache, lru_cache

from gristmill.cleaning._line_ends import MOST_CLOSERS, PAST
from gristmill.text.sentence_ends import ENDS, QUOTES

SOLO_NAMES = (
    "CJK UNIFIED",
    "CJK COMPATIBILITY IDEOGRAPH",
    "IDEOGRAPHIC ITERATION",
    "HIRAGANA",
    "KATAKANA",
    "HENTAIGANA",
)
SOLO_NAMES += (
    "IDEOGRAPHIC CLOSING",
    "IDEOGRAPHIC NUMBER ZERO",
    "BOPOMOFO",
    "HALFWIDTH KATAKANA",
    "THAI",
    "LAO",
    "MYANMAR",
    "KHMER",
)
WIDE_PUNCTUATION = (
    range(0x0F00, 0x1000),
    range(0x1361, 0x1362),
    range(0x3000, 0x3040),
    range(0xFE30, 0xFE50),
    range(0xFF00, 0xFFF0),
)
SPACING_VOWELS = "\u0e33\u0eb3"


def unspaced(char: str) -> bool:
    return unicodedata.name(char, "").startswith(SOLO_NAMES)


@cache
def is_solo(char: str) -> bool:
    letter = unicodedata.category(char)[0] == "L" or char == "\u3007"
    return unspaced(char) and letter and char not in SPACING_VOWELS


@cache
def is_joined(char: str) -> bool:
    script = unspaced(char) or char in "\u3099\u309a"
    return script and (char in SPACING_VOWELS or unicodedata.category(char)[0] == "M")


@cache
def is_symbol(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


@cache
def is_break(char: str) -> bool:
    wide = unspaced(char) or any(ord(char) in block for block in WIDE_PUNCTUATION) or char == "\u30fb"
    return char.isspace() or (wide and is_symbol(char))


@lru_cache(maxsize=8)
def words(text: str) -> list[str]:
    found: list[str] = []
    previous = " "
    for char in text:
        if not is_break(char):
            member, was_member = is_solo(char) or is_joined(char), is_solo(previous) or is_joined(previous)
            if is_break(previous) or is_solo(char) or (was_member and not member):
                found.append("")
            found[-1] += char
        previous = char
    return found


def word_spans(text: str) -> list[tuple[int, int]]:
    spans, place = [], 0
    for word in words(text):
        place = text.index(word, place)
        spans.append((place, place + len(word)))
        place += len(word)
    return spans


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def paragraphs(text: str) -> list[str]:
    found, open_paragraph = [], False
    for line in text.split("\n"):
        if not line.strip():
            open_paragraph = False
        elif open_paragraph:
            found[-1] += "\n" + line
        else:
            found.append(line)
            open_paragraph = True
    return [paragraph.strip() for paragraph in found]


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def ended(line: str, terminal: str | None) -> bool:
    """Whether a line, stripped of white space, ends a sentence."""
    if terminal is not None:
        return line[-1] in terminal
    last = len(line) - 1
    for _ in range(MOST_CLOSERS):
        last = max(0, last - (line[last] in PAST))
    return line[-1] in QUOTES or line[last] in ENDS
