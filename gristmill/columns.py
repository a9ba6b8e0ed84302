"""Arrow columns from Python strings and numpy arrays, and their bytes."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import xxhash

from gristmill.errors import InputError

_MOST_BYTES = (1 << 31) - 1
"""What 32-bit offsets reach."""


def strings(values: Sequence[str | None]) -> pa.StringArray:
    """A string column; None becomes null.

    Raises ``UnicodeEncodeError`` for a lone surrogate, ``InputError`` when all is longer than the 2 GiB of a column.
    """
    encoded = [b"" if value is None else value.encode() for value in values]
    if (size := sum(map(len, encoded))) > _MOST_BYTES:
        raise InputError(f"{size} bytes of text in one batch; at most {_MOST_BYTES} fit", "limit")
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(data) for data in encoded], out=offsets[1:])
    return pa.StringArray.from_buffers(
        len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)), _validity(values)
    )


def _validity(values: Sequence[str | None]) -> pa.Buffer | None:
    if None not in values:
        return None
    present = np.array([value is not None for value in values], bool)
    return pa.py_buffer(np.packbits(present, bitorder="little"))


def numbers(values: np.ndarray, missing: np.ndarray | None = None) -> pa.Array:
    """A column of numbers; those where ``missing`` (bool) is true become null."""
    validity = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [validity, data])


def utf8(texts: pa.StringArray) -> tuple[np.ndarray, memoryview]:
    """int64 offsets of the texts from 0, one more than texts, and the bytes of all, which are not copied."""
    _, places, data = texts.buffers()
    if not len(texts) or data is None:
        return np.zeros(len(texts) + 1, np.int64), memoryview(b"")
    offsets = np.frombuffer(places, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return offsets - offsets[0], memoryview(data)[offsets[0] : offsets[-1]].cast("B")


def each(texts: pa.StringArray) -> Iterator[memoryview]:
    """The bytes of each text, which are not copied."""
    offsets, data = utf8(texts)
    return (data[start:stop] for start, stop in pairwise(offsets.tolist()))


def hashes(texts: pa.StringArray, seed: int = 0) -> np.ndarray:
    """uint64: xxh3_64 of the bytes of each text."""
    return np.array([xxhash.xxh3_64_intdigest(text, seed) for text in each(texts)], np.uint64)
