"""Importing this module lets pyarrow go without pandas, which it imports with the first array: 0.6 s of every process.

pyarrow looks once; it is made to look here, while pandas cannot be found. A later ``import pandas`` works, and so does
what a library asks pyarrow to do with data frames.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

import pyarrow as pa


class _Hidden(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def _look() -> None:
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([""])
    finally:
        sys.meta_path.remove(hidden)


_look()
