"""The bytes of a string array as numpy arrays, and edits that only take bytes away.

A rule that can be said as "these bytes go" costs a few passes over the buffer for a whole batch, where a Python
string per document costs more than all the rest of the cleaning.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

TAB, NEWLINE, RETURN, SPACE = 9, 10, 13, 32

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Utf8:
    """Document ``i`` is ``data[offsets[i]:offsets[i + 1]]``."""

    data: Bytes
    """Every byte of the array's texts and nothing else; not writable."""
    offsets: Ints
    """One more than there are documents, from 0 to ``len(data)``."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Half-open, ascending, disjoint ranges of positions."""

    starts: Ints
    stops: Ints

    def positions(self) -> Ints:
        """Every position of the ranges, one range after the other."""
        lengths = self.stops - self.starts
        earlier = np.cumsum(lengths) - lengths
        positions: Ints = np.arange(int(lengths.sum()), dtype=np.int64)
        positions += np.repeat(self.starts - earlier, lengths)
        return positions


def view(texts: pa.StringArray) -> Utf8:
    """The bytes of ``texts`` (no nulls), without a copy."""
    if len(texts) == 0:
        return Utf8(np.empty(0, np.uint8), np.zeros(1, np.int64))
    _, offset_buffer, data_buffer = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    if offsets[-1] == offsets[0]:
        return Utf8(np.empty(0, np.uint8), np.zeros(len(texts) + 1, np.int64))
    return Utf8(np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]], offsets - offsets[0])


def strings(utf8: Utf8) -> pa.StringArray:
    """The string array of these bytes, which the caller knows to be valid UTF-8 and under 2 GiB."""
    offsets = utf8.offsets.astype(np.int32)
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(utf8.data))


def without(utf8: Utf8, positions: Ints) -> pa.StringArray:
    """The texts with the bytes at ``positions`` (ascending, each once) taken away."""
    keep = np.ones(len(utf8.data), np.bool_)
    keep[positions] = False
    return strings(Utf8(utf8.data[keep], utf8.offsets - np.searchsorted(positions, utf8.offsets)))


def newlines(texts: pa.StringArray) -> pa.StringArray:
    """The texts with one newline in place of every CRLF and every lone CR."""
    utf8 = view(texts)
    if RETURN not in utf8.data.tobytes():  # several GB/s
        return texts
    returns = np.flatnonzero(utf8.data == RETURN)
    data = utf8.data.copy()
    data[returns] = NEWLINE
    return without(Utf8(data, utf8.offsets), returns[before(utf8, returns + 1, NEWLINE)])


def on_edge(positions: Ints, offsets: Ints) -> Bools:
    """Which positions, none beyond the last offset, are where a document starts or the last one stops."""
    return np.equal(offsets[np.searchsorted(offsets, positions)], positions)


def before(utf8: Utf8, positions: Ints, byte: int) -> Bools:
    """Which positions hold ``byte`` and are not the start of a document: what precedes them goes on with it."""
    inside = ~on_edge(positions, utf8.offsets)
    found = np.zeros(len(positions), np.bool_)
    found[inside] = utf8.data[positions[inside]] == byte
    return found


def rows(positions: Ints, offsets: Ints) -> Ints:
    """The document of each position."""
    return np.searchsorted(offsets, positions, side="right").astype(np.int64) - 1


def runs(positions: Ints, offsets: Ints) -> Spans:
    """Runs of consecutive positions as ranges of indexes into ``positions``; a run ends with its document."""
    if len(positions) == 0:
        return Spans(np.empty(0, np.int64), np.empty(0, np.int64))
    new = (np.diff(positions) != 1) | (on_edge(positions[1:], offsets))
    breaks = np.flatnonzero(new) + 1
    return Spans(np.concatenate(([0], breaks)), np.concatenate((breaks, [len(positions)])))
