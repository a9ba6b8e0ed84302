"""Arrow columns from Python strings and numpy arrays, without ``pyarrow.array``: its first call on a list or an array
imports pandas where that is installed, which costs every worker process 0.6 s."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

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
