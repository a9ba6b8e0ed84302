"""Combining marks in canonical order, in time linear in the text.

The normaliser behind Arrow sorts a run of marks by exchanging neighbours, which takes minutes for a run of a million.
Sorting is a part of every normalisation form (Unicode Standard Annex 15: decompose, sort, compose), so a text that was
decomposed and sorted before comes out the same, and there is nothing left to exchange.
"""

import unicodedata
from functools import cache

import numpy as np
import pyarrow.compute as pc

from gristmill.cleaning._utf8 import Bools, Bytes, Ints, Utf8, rows
from gristmill.columns import strings

LONGEST = 64
"""Marks in a row that are left to the normaliser: 64 cost no more than the letters of a line."""
_CODES = range(0x300, 0x20000)
"""All marks that are sorted lie here, in every version of Unicode so far."""
_LAST = "\u0345"
"""The one mark of the highest class, 240."""
_HALF_WIDTH = (0xFF9E, 0xFF9F)
"""Letters that NFKC and NFKD make marks of."""
_STEP, _BLOCK = 8, 1 << 14
_WIDTH = 4
"""Most bytes of a character in UTF-8."""


def crowded(active: Ints, utf8: Utf8) -> set[int]:
    """The documents with a run of ``LONGEST`` marks; ``active`` are the places of all marks, and of other characters.

    Every such run holds eight samples in a row, where one place in eight is a sample. Scripts that write many marks
    are spared the look at each of them.
    """
    samples = active[::_STEP]
    if len(samples) < _STEP or not (samples[_STEP - 1 :] - samples[: 1 - _STEP] <= _WIDTH * LONGEST).any():
        return set()
    sums = np.cumsum(np.concatenate(([0], _marks(utf8.data, samples)[0])))
    likely = np.flatnonzero(sums[_STEP:] - sums[:-_STEP] == _STEP) * _STEP
    found: set[int] = set()
    for first in range(0, len(likely), _BLOCK):
        places = active[likely[first : first + _BLOCK, None] + np.arange(LONGEST - _STEP + 1)]
        are_marks, lengths = _marks(utf8.data, places)
        joined = places[:, 1:] == (places + lengths)[:, :-1]
        found.update(rows(places[are_marks.all(axis=1) & joined.all(axis=1), 0], utf8.offsets).tolist())
    return found


def _marks(data: Bytes, firsts: Ints) -> tuple[Bools, Ints]:
    """Which of the characters that start at these places are marks, and their lengths in bytes."""
    points, lengths = _decoded(data, firsts)
    return (_classes()[points] > 0) | (points == _HALF_WIDTH[0]) | (points == _HALF_WIDTH[1]), lengths


def _decoded(data: Bytes, firsts: Ints) -> tuple[Ints, Ints]:
    """Code points and lengths of the characters that start at these places, each of two bytes or more."""
    lead = data[firsts].astype(np.int64)
    lengths = np.where(lead < 0xE0, 2, np.where(lead < 0xF0, 3, 4))
    points = lead & np.where(lead < 0xE0, 0x1F, np.where(lead < 0xF0, 0x0F, 0x07))
    for n in range(1, _WIDTH):
        more = lengths > n
        points[more] = points[more] << 6 | (data[firsts[more] + n] & 0x3F)
    return points, lengths


def sorted_marks(text: str, form: str) -> str:
    """A text with the same ``form``, and without a long run of marks out of order."""
    found = sorted(set(text))
    parts = pc.utf8_normalize(strings(found), "NFKD" if form.startswith("NFK") else "NFD").to_pylist()
    points = _points(text.translate({ord(char): part for char, part in zip(found, parts, strict=True) if char != part}))
    classes = _classes()[points]
    order = np.lexsort((classes, np.cumsum(classes == 0)))
    return points[order].tobytes().decode("utf-32-le")


def _points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), "<u4")


@cache
def _classes() -> Bytes:
    """By code point: 0 for what is never moved, else the rank of its combining class, as Arrow's tables have it.

    Found by trial, for the tables of Python are older and lack the marks of later versions: a mark moves before
    another of a higher class.
    """
    table = np.zeros(0x110000, np.uint8)
    chars = [chr(code) for code in _CODES if not 0xD800 <= code < 0xE000]
    moved = pc.utf8_normalize(strings([_LAST + char for char in chars]), "NFD").to_pylist()
    marks = [char for char, result in zip(chars, moved, strict=True) if char == _LAST or result[0] != _LAST]
    probes = {unicodedata.combining(mark): mark for mark in marks if not unicodedata.decomposition(mark)}
    probes.pop(0, None)
    for probe in probes.values():
        pairs = pc.utf8_normalize(strings([mark + probe for mark in marks]), "NFD").to_pylist()
        for mark, pair in zip(marks, pairs, strict=True):
            table[ord(mark)] += pair[0] == probe and mark != probe
    table[[ord(mark) for mark in marks]] += 1
    return table
