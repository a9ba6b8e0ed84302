"""Documents whose text is equal up to white space."""

import numpy as np
import pyarrow as pa
import xxhash

from gristmill.dedup.base import SIGNATURE, Dedup

_BLANKS = np.zeros(256, bool)
_BLANKS[[9, 10, 11, 12, 13, 32]] = True


class Exact(Dedup):
    """Equal means: the same UTF-8 bytes once every run of ASCII white space is one space and the ends are stripped.

    The signature is xxh3_128 of those bytes: among 10**12 documents the chance of one false match is below 10**-14.
    """

    def signatures(self, texts: pa.StringArray) -> np.ndarray:
        data, starts, stops = normalised(texts)
        found = np.empty(len(texts), SIGNATURE)
        view = data.data
        for row, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
            value = xxhash.xxh3_128_intdigest(view[start:stop])
            found[row] = (value >> 64, value & 0xFFFFFFFFFFFFFFFF, row)
        return found


def normalised(texts: pa.StringArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The batch's bytes with white space squeezed: uint8 data, int64 starts and stops of each text in it."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    blank = _BLANKS[data]
    keep = ~blank
    keep[1:] |= ~blank[:-1]  # the first blank of a run stays
    if len(data):
        keep[offsets[:-1][offsets[:-1] < len(data)]] = True  # also after a text that ended in one
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    squeezed = np.where(blank[keep], np.uint8(32), data[keep])
    starts, stops = kept_before[offsets[:-1]], kept_before[offsets[1:]]
    return squeezed, *_without_outer_blank(squeezed, starts, stops)


def _without_outer_blank(data: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Runs are one byte long by now, so an outer blank is at most one byte."""
    padded = np.append(data, np.uint8(0))
    starts = starts + ((stops > starts) & (padded[starts] == 32))
    stops = stops - ((stops > starts) & (padded[np.maximum(stops - 1, 0)] == 32))
    return starts, stops
