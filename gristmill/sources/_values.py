"""Python values of an Arrow column of any type, none of which can refuse a whole file."""

from typing import Any

import pyarrow as pa

_MICROSECOND = 1000
_UNKNOWN = (ValueError, OverflowError, KeyError, pa.ArrowException)
"""What pyarrow raises for a moment outside Python's years, a time zone without a name, and bytes that are no UTF-8."""


def plain(column: pa.Array) -> list[Any]:
    """The values of a column.

    Bytes that are not UTF-8 show as escapes, moments that Python cannot express as the number that is stored, times of
    day that it would cut to microseconds as Arrow writes them.
    """
    if pa.types.is_dictionary(column.type):
        distinct = plain(column.dictionary)
        return [None if index is None else distinct[index] for index in column.indices.to_pylist()]
    if is_texty(column.type):
        found = column.cast(pa.binary()).to_pylist()
        return [value if value is None else value.decode("utf-8", "backslashreplace") for value in found]
    if column.type == pa.time64("ns"):
        return [_value(value) for value in column]
    try:
        values: list[Any] = column.to_pylist()
    except _UNKNOWN:
        return [_value(value) for value in column]
    return values


def is_texty(kind: pa.DataType) -> bool:
    """Whether values of this type are strings of characters or bytes."""
    types = pa.types
    checks = (types.is_string, types.is_large_string, types.is_string_view)
    binary = (types.is_binary, types.is_large_binary, types.is_binary_view)
    return any(check(kind) for check in checks + binary)


def _value(scalar: pa.Scalar) -> Any:
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if kind == pa.time64("ns") and scalar.value % _MICROSECOND:
        return scalar.cast(pa.string()).as_py()
    if pa.types.is_struct(kind):
        return {field.name: _value(scalar[n]) for n, field in enumerate(kind)}
    if pa.types.is_dictionary(kind):
        return _value(scalar.value)
    if pa.types.is_map(kind):
        return [(_value(entry[0]), _value(entry[1])) for entry in scalar.values]
    if pa.types.is_nested(kind):
        return [_value(value) for value in scalar.values]
    try:
        return scalar.as_py()
    except _UNKNOWN:
        return scalar.as_buffer().to_pybytes().decode("utf-8", "backslashreplace") if is_texty(kind) else scalar.value
