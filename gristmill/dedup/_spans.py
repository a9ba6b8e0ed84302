"""Cutting the texts of a batch into parts, and hashing the parts."""

from itertools import pairwise
from re import Pattern

import numpy as np
import numpy.typing as npt
import xxhash

from gristmill.dedup.base import Spans
from gristmill.text.whitespace import unix_lines

Ints = npt.NDArray[np.int64]
BLANKS = b" \t\n\v\f\r"


def _indentation(data: bytes, first: int, start: int, inner: int) -> bytes:
    """The blanks between the start of a line and the first word of a part, in the document from ``first`` on."""
    at = inner - len(data[start:inner].lstrip(BLANKS))
    line = max(first, data.rfind(b"\n", first, at) + 1)
    return b"" if data[line:at].strip(BLANKS) else data[line:at]


def parts(data: bytes, offsets: Ints, end: Pattern[bytes]) -> tuple[Ints, Ints, Ints, Ints]:
    """Document, start, stop and inner stop of the parts, each of which ``end`` or the text's end closes.

    The inner stop leaves what ``end`` matched out. It is looked for in one text at a time: a match over the border of
    two would make the parts of a document depend on its neighbour. An empty text has no part.
    """
    found: list[tuple[int, int, int, int]] = []
    for document, (first, last) in enumerate(pairwise(offsets.tolist())):
        start = first
        for match in end.finditer(data, first, last):
            found.append((document, start, match.end(), match.start()))
            start = match.end()
        if start < last:
            found.append((document, start, last, last))
    table = np.array(found, np.int64).reshape(-1, 4)
    return table[:, 0], table[:, 1], table[:, 2], table[:, 3]


def spans(
    data: bytes, offsets: Ints, parts: tuple[Ints, Ints, Ints, Ints], min_bytes: int, *, programs: bool = False
) -> Spans:
    """``Spans`` of batch positions, from document, start, stop and inner stop of the parts; ``data[start:inner]``,
    stripped of outer white space, is what is hashed, and shorter ones than ``min_bytes`` are left out. Of programs the
    indentation of the first line is hashed too."""
    document, start, stop, inner = parts
    texts = [unix_lines(data[a:b]).strip(BLANKS) for a, b in zip(start.tolist(), inner.tolist(), strict=True)]
    if programs:
        places = zip(offsets[document].tolist(), start.tolist(), inner.tolist(), texts, strict=True)
        texts = [_indentation(data, *place[:3]) + place[3] for place in places]
    kept = np.array([len(text) >= min_bytes for text in texts], bool)
    digests = b"".join([xxhash.xxh3_128_digest(text) for text in texts if len(text) >= min_bytes])
    first = offsets[document[kept]]
    return Spans(
        document=document[kept],
        start=start[kept] - first,
        stop=stop[kept] - first,
        keys=np.frombuffer(digests, ">u8").astype(np.uint64).reshape(-1, 2),
    )
