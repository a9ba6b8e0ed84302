"""How lines and sentences end."""

import numpy as np
import numpy.typing as npt

from gristmill.cleaning._tables import Tables
from gristmill.cleaning._utf8 import Bools, Ints

DOT, ELLIPSIS = ord("."), ord("\u2026")
STOPS = ".?!\u061f\u06d4\u0964\u0965\u104b\u1362\u17d4\u203c\u203d\u2047\u2048\u2049"
"""Marks that end a sentence where white space follows: Latin, Arabic, Indic, Burmese, Ethiopic and Khmer ones."""
WIDE_STOPS = "\u3002\uff01\uff1f\uff0e\uff61"
"""Marks that end a sentence whatever follows: Chinese and Japanese ones."""
CLOSERS = "\"'\u2019\u201d\u00bb)]\u300d\u300f\uff09"
"""Quotes and brackets that may stand between a mark and the end of its sentence."""
TERMINAL = STOPS + WIDE_STOPS + "\"'\u2019\u201d\u300d\u300f"
"""What a line of running text ends in: C4's full stop, question mark, exclamation mark and quote, in all scripts."""


def one_of(characters: npt.NDArray[np.uint32], wanted: str) -> Bools:
    """Which code points are among the characters of ``wanted``."""
    return np.isin(characters, np.array([ord(char) for char in wanted], np.uint32))


def ends_in_ellipsis(tables: Tables) -> Bools:
    """Which lines end in an ellipsis or three dots."""
    characters, stops = tables.characters, tables.lines.stops
    found: Bools = characters[stops - 1] == ELLIPSIS
    dotted = np.flatnonzero((characters[stops - 1] == DOT) & (tables.lines.lengths > 2))
    before = stops[dotted]
    found[dotted] = (characters[before - 2] == DOT) & (characters[before - 3] == DOT)
    return found


def sentences(tables: Tables) -> Ints:
    """Sentences of each document: every line ends one, and so does a mark inside a line.

    White space follows such a mark, after one closing quote or bracket perhaps; a wide mark needs no white space, and
    several in a row are one.
    """
    ends = np.concatenate((_spaced_ends(tables), _wide_ends(tables)))
    return tables.lines.counts + np.diff(np.searchsorted(np.sort(ends), tables.offsets))


def _spaced_ends(tables: Tables) -> Ints:
    runs, characters = tables.runs, tables.characters
    inside = np.ones(len(runs.stops), np.bool_)
    inside[np.searchsorted(runs.stops, tables.lines.stops)] = False
    starts, lasts = runs.starts[inside], runs.stops[inside] - 1
    marked = one_of(characters[lasts], STOPS)
    closed = np.flatnonzero(one_of(characters[lasts], CLOSERS) & (lasts > starts))
    marked[closed] = one_of(characters[lasts[closed] - 1], STOPS)
    return lasts[marked]


def _wide_ends(tables: Tables) -> Ints:
    lines, characters = tables.lines, tables.characters
    marks: Ints = np.flatnonzero(one_of(characters, WIDE_STOPS))
    left = lines.stops[np.searchsorted(lines.starts, marks, side="right") - 1] - marks - 1
    marks, left = marks[left > 0], left[left > 0]
    following = characters[marks + 1]
    goes_on = (left > 1) | ~one_of(following, CLOSERS)
    goes_on &= ~one_of(following, WIDE_STOPS)
    return marks[goes_on]
