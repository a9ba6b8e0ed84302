"""How lines and sentences end."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gristmill.cleaning._characters import SPACE
from gristmill.cleaning._tables import Tables
from gristmill.cleaning._utf8 import Bools, Ints
from gristmill.text.sentence_ends import CLOSERS, ENDS, QUOTES, SPACED

DOT, ELLIPSIS = ord("."), ord("\u2026")
MOST_CLOSERS = 6
"""Quotes, brackets and blanks that are looked past, after a mark or before the end of a line."""
PAST = CLOSERS + " \u00a0\u202f"
"""French puts a blank before a closing quote."""


@lru_cache(maxsize=16)
def _table(wanted: str) -> Bools:
    table = np.zeros(0x110000, np.bool_)
    table[[ord(char) for char in wanted]] = True
    return table


def one_of(characters: npt.NDArray[np.uint32], wanted: str) -> Bools:
    """Which code points are among the characters of ``wanted``."""
    return _table(wanted)[characters]


def ended_lines(tables: Tables, terminal: str | None) -> Bools:
    """Which lines end in one of the characters of ``terminal``. None: in the end of a sentence in any script, quotes
    and brackets after it, or in a closing quote alone."""
    characters, starts, lasts = tables.characters, tables.lines.starts, tables.lines.stops - 1
    if terminal is not None:
        return one_of(characters[lasts], terminal)
    ended = one_of(characters[lasts], QUOTES)
    for _ in range(MOST_CLOSERS):
        lasts = np.maximum(lasts - one_of(characters[lasts], PAST), starts)
    return ended | one_of(characters[lasts], ENDS)


def ends_in_ellipsis(tables: Tables) -> Bools:
    """Which lines end in an ellipsis or three dots."""
    characters, stops = tables.characters, tables.lines.stops
    found: Bools = characters[stops - 1] == ELLIPSIS
    dotted = np.flatnonzero((characters[stops - 1] == DOT) & (tables.lines.lengths > 2))
    before = stops[dotted]
    found[dotted] = (characters[before - 2] == DOT) & (characters[before - 3] == DOT)
    return found


def sentences(tables: Tables) -> Ints:
    """Sentences of each document: every line ends one, and so does a mark inside a line that more than quotes and
    brackets follow.

    White space follows a mark of ``SPACED``; the others, which no number or address has, need none. Marks with nothing
    but white space between them are one.
    """
    lines, characters = tables.lines, tables.characters
    marks: Ints = np.flatnonzero(one_of(characters, ENDS))
    stops = lines.stops[np.searchsorted(lines.starts, marks, side="right") - 1]
    ended, after = ~one_of(characters[marks], SPACED), marks + 1
    for _ in range(MOST_CLOSERS):
        following = np.minimum(after, stops - 1)
        blank = tables.classes[following] & SPACE != 0
        ended |= blank
        after = np.minimum(after + (blank | one_of(characters[following], CLOSERS)), stops)
    goes_on = (after < stops) & ~one_of(characters[np.minimum(after, stops - 1)], ENDS)
    return lines.counts + np.diff(np.searchsorted(marks[ended & goes_on], tables.offsets))
