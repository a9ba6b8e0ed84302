"""Where a text may be cut in two so that the ids of both parts, back to back, are the ids of the whole.

A byte-level BPE tokenizer first cuts text into words by a regular expression without lookbehind, then merges within
each word the pair of lowest rank, the leftmost first, until none is left.

*Between words* a cut is free: where a word must end between two characters whatever surrounds them (a letter and a
blank, a letter and a digit), the expression goes on from there as from the beginning of a text.

*Within a word* merges on one side of a final boundary never depend on the other side. So the ids of a word are the one
sequence in which every two neighbours x, y are what BPE makes of the text of x and y alone. Two parts fit when the last
id of the one and the first of the other are such neighbours, which they are when some text has them side by side. (That
a whole word may have an id of its own, merges or not, changes nothing: no token is as long as what is around a cut.)

Characters count only where their class is beyond doubt: it is the same in Unicode 3.2 and now, so no library's table
differs on it, and no normal form changes them or joins them with others.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from gristmill.types import Value

Kind = Literal["between", "within"]

BLANKS, ENDS = " \t\r\n", "\r\n"
_RUN = re.compile(r"[ \t\r\n]*")
_END = re.compile(r"[\r\n]")
_ZWJ, _SELECTORS, _JAMO = "\u200d", ("\ufe00", "\ufe0f"), ("\u1100", "\u11ff")

AROUND = 1024
"""Characters after a cut, at least, that the ids on both sides of it are taken from. Tokens have up to 512."""


class Words(Value, frozen=True, kw_only=True):
    """What the regular expression of a pre-tokenizer does with runs of one class."""

    digits: int | None
    """A word has at most so many digits; None: any number."""
    newlines: Literal["plain", "gathered", "unknown"]
    """``plain``: a line end is a blank as others. ``gathered``: it ends the word of blanks, or of signs, before it.
    ``unknown``: so, but otherwise at the end of a text: no cut within blanks."""


@lru_cache(1 << 16)
def kind_of(character: str) -> str:
    """``L`` letter, ``N`` number, ``S`` blank, ``O`` other; empty where libraries may differ or a neighbour counts."""
    if character in BLANKS:
        return "S"
    if character == _ZWJ or _SELECTORS[0] <= character <= _SELECTORS[1]:
        return "O"
    now, before = unicodedata.category(character), unicodedata.ucd_3_2_0.category(character)
    if now[0] in "MCZ" or _JAMO[0] <= character <= _JAMO[1] or unicodedata.normalize("NFC", character) != character:
        return ""
    if now[0] in "LN":
        return now[0] if before[0] == now[0] else ""
    return "O" if before == "Cn" or before[0] in "PS" else ""


class Cuts:
    """Places in one ``text`` where ``words`` allows a cut. ``tokens`` are added tokens that are looked for before
    anything else, in ASCII: no cut goes through one."""

    def __init__(self, text: str, words: Words, tokens: list[str]) -> None:
        self._text = text
        self._words = words
        self._tokens = tokens
        self._longest = max(map(len, tokens), default=0)
        self._blanks = (0, 0, -1)
        self._digits = self._ends = (0, 0)

    def at(self, place: int, start: int) -> Kind | None:
        """What a cut before the character at ``place`` would part, or None where it is not safe. ``start`` is where
        the last cut was."""
        if not start + AROUND < place < len(self._text) - AROUND:
            return None
        left, right, after = (kind_of(character) for character in self._text[place - 1 : place + 2])
        if not left or not right or not after or self._through_token(place):
            return None
        if left == right:
            return self._same(left, place, start, after)
        if right == "S":
            gathered = left == "O" and self._words.newlines != "plain" and self._text[place] in ENDS
            return None if gathered else "between"
        joined = left == "S" or (left == "O" and right == "L")  # " a", "'s", "-a"
        return None if joined else "between"

    def _through_token(self, place: int) -> bool:
        head = unicodedata.normalize("NFC", self._text[place - self._longest : place])
        tail = unicodedata.normalize("NFC", self._text[place : place + self._longest])
        return any(token in head[1 - len(token) :] + tail[: len(token) - 1] for token in self._tokens if token[1:])

    def _same(self, kind: str, place: int, start: int, after: str) -> Kind | None:
        if kind == "N" and self._words.digits is not None:
            return "between" if self._full_group(place, start, self._words.digits) else None
        if kind in "OS" and after != kind:
            return None  # the last sign of a run may go to the next word
        if kind == "L" and "'" in self._text[place - 3 : place]:
            return None  # 're is a word, really is one too
        return "within" if kind != "S" or self._within_blanks(place, start) else None

    def _full_group(self, place: int, start: int, digits: int) -> bool:
        """Whether the digits before ``place`` are whole groups: they are counted from the first of their run, or from
        the last cut, where a group began."""
        begin, end = self._digits
        if not start <= begin < place <= end:
            begin = start + len(self._text[start:place].rstrip("0123456789"))
            while begin > start and kind_of(self._text[begin - 1]) == "N":
                begin -= 1
            self._digits = (begin, place)
        return (begin == start or kind_of(self._text[begin - 1]) != "") and (place - begin) % digits == 0

    def _within_blanks(self, place: int, start: int) -> bool:
        """Where line ends are gathered, a word of blanks ends with the last one of the run, and a word of signs with
        those that follow it."""
        if self._words.newlines != "gathered":
            return self._words.newlines == "plain"
        end, last = self._blanks_from(place)
        if end < len(self._text) and not kind_of(self._text[end]):
            return False  # perhaps another blank
        if last < place:
            return True
        if self._text[place - 1] not in ENDS or not _END.search(self._text, place, place + AROUND):
            return False
        if self._text[place] not in ENDS:
            return True
        begin = self._ends_from(place, start)
        return begin == start or kind_of(self._text[begin - 1]) in ("L", "N", "S")

    def _ends_from(self, place: int, start: int) -> int:
        """Where the run of line ends before ``place`` begins, not before ``start``."""
        begin, end = self._ends
        if not start <= begin < place <= end:
            begin = place
            while begin > start and self._text[begin - 1] in ENDS:
                begin -= 1
            self._ends = (begin, place)
        return begin

    def _blanks_from(self, place: int) -> tuple[int, int]:
        """Where the run of blanks around ``place`` ends, and its last line end, -1 where there is none after."""
        begin, end, last = self._blanks
        if place == begin - 1:
            begin, last = place, place if last < 0 and self._text[place] in ENDS else last
        elif not begin <= place < end:
            found = _RUN.match(self._text, place)
            assert found is not None
            begin, end = place, found.end()
            last = max(self._text.rfind(mark, place, end) for mark in ENDS)
        self._blanks = (begin, end, last)
        return end, last
