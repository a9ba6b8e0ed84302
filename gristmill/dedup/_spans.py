"""Cutting a batch of texts at byte positions and hashing the parts."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from gristmill.dedup.base import Spans

Ints = npt.NDArray[np.int64]
BLANKS = b" \t\n\v\f\r"


def buffers(texts: pa.StringArray) -> tuple[bytes, Ints]:
    """The batch's bytes and the int64 offsets of each text in them."""
    if not len(texts):
        return b"", np.zeros(1, np.int64)
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = texts.buffers()[2]
    raw = memoryview(data)[offsets[0] : offsets[-1]].tobytes() if data is not None else b""
    return raw, offsets - offsets[0]


def parts(offsets: Ints, cuts: Ints) -> tuple[Ints, Ints, Ints]:
    """Document, start and stop of the parts between ``cuts`` (sorted byte positions); a text's ends cut as well."""
    edges = np.unique(np.concatenate([cuts, offsets]))
    starts, stops = edges[:-1], edges[1:]
    # An empty text has no part; ``right`` skips it.
    return np.searchsorted(offsets, starts, "right") - 1, starts, stops


def spans(data: bytes, offsets: Ints, document: Ints, start: Ints, stop: Ints, compared: Ints, min_bytes: int) -> Spans:
    """``Spans`` of batch positions; ``data[start:compared]``, stripped of outer white space, is what is hashed, and
    shorter ones than ``min_bytes`` are left out."""
    texts = [data[a:b].strip(BLANKS) for a, b in zip(start.tolist(), compared.tolist(), strict=True)]
    kept = np.array([len(text) >= min_bytes for text in texts], bool)
    digests = b"".join([xxhash.xxh3_128_digest(text) for text in texts if len(text) >= min_bytes])
    first = offsets[document[kept]]
    return Spans(
        document=document[kept],
        start=start[kept] - first,
        stop=stop[kept] - first,
        keys=np.frombuffer(digests, ">u8").astype(np.uint64).reshape(-1, 2),
    )
