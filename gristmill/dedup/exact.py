"""Documents whose text is equal up to white space."""

import re
from typing import ClassVar

import numpy as np
import pyarrow as pa
import xxhash

from gristmill.columns import utf8
from gristmill.dedup.base import Dedup, Signatures
from gristmill.text.whitespace import unix_lines

BLANKS = b"\t\n\v\f\r "
LINE_ENDS = re.compile(rb"(?:[ \t\v\f]*\n)+")
WITHIN_LINE = re.compile(rb"(?<=[^ \t\v\f\n])[ \t\v\f]+")
TO_SPACE = bytes(0x20 if code in BLANKS else code for code in range(256))


class Exact(Dedup):
    """Equal means: the same UTF-8 bytes once every run of ASCII white space is one space and the ends are stripped.

    Of a source of genre ``code`` the lines and their indentation count, tabs and spaces apart: empty lines, white space
    at the ends of lines and the kind of line end do not, and a run of white space within a line is one space.

    The signature is xxh3_128 of those bytes: among 10**12 documents the chance of one false match is below 10**-14.
    """

    transitive: ClassVar[bool] = True

    def check_dtype(self) -> np.dtype:
        return np.dtype(("<u8", (1,)))

    def sign(self, documents: pa.RecordBatch, programs: np.ndarray | None = None) -> Signatures:
        texts = documents.column("text")
        data, starts, stops = normalised(texts)
        view = data.data
        hashes = [
            xxhash.xxh3_128_digest(view[start:stop])
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
        for place in np.flatnonzero(programs) if programs is not None else []:
            hashes[place] = xxhash.xxh3_128_digest(program(texts[place].as_py().encode()))
        halves = np.frombuffer(b"".join(hashes), ">u8").reshape(-1, 2).astype("<u8")
        return Signatures(bands=halves[:, :1], check=halves[:, 1:], valid=np.ones(len(hashes), bool))

    def confirmed(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        same: np.ndarray = (first == second).all(axis=1)
        return same


def program(text: bytes) -> bytes:
    """Its lines with their indentation."""
    return WITHIN_LINE.sub(b" ", LINE_ENDS.sub(b"\n", unix_lines(text))).lstrip(b"\n").rstrip(BLANKS)


def normalised(texts: pa.StringArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The batch's bytes with white space squeezed: uint8 data, int64 starts and stops of each text in it.

    Three passes over the bytes and none over words: 1 GB/s, where a regular expression makes 0.1.
    """
    edges, raw = utf8(texts)
    data = np.frombuffer(bytes(raw).translate(TO_SPACE), np.uint8)
    space = data == 0x20
    # A space after a space goes. Where the first ends one text and the second starts the next, it would be stripped
    # from the next one's start anyway.
    doubled = np.flatnonzero(space[1:] & space[:-1]) + 1
    edges = edges - np.searchsorted(doubled, edges)
    data = np.delete(data, doubled)
    return data, *_stripped(data, edges[:-1], edges[1:])


def _stripped(data: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Texts without an outer space; each end has at most one by now."""
    padded = np.append(data, np.uint8(0))
    starts = starts + ((stops > starts) & (padded[starts] == 0x20))
    stops = stops - ((stops > starts) & (padded[np.maximum(stops - 1, 0)] == 0x20))
    return starts, stops
