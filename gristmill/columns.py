"""Arrow string columns from Python strings, without ``pyarrow.array``: its first call on a list imports pandas where
that is installed, which costs every worker process 0.6 s."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def strings(values: Sequence[str | None]) -> pa.StringArray:
    """A string column; None becomes null. Raises ``UnicodeEncodeError`` for a lone surrogate."""
    encoded = [b"" if value is None else value.encode() for value in values]
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
