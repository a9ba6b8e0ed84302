"""Parquet files of packed rows: ids, which of them to learn, and where documents end."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.formats.base import Format, OutputFile, Stream
from gristmill.rows import read_groups
from gristmill.types import file_name


class ParquetRows(Format):
    """Rows that a packing made, one a record: ``ids``, ``mask``, and by segment ``ends``, ``skipped`` and ``shards``;
    ``gristmill.rows`` describes them.

    Every document starts with the end-of-text id, as start of text, and rows are filled up with it. A row group is what
    is read at once: 256 rows of 2,049 ids are 1 MB.
    """

    holds: ClassVar[Literal["tokens", "rows", "text"]] = "rows"

    eot: Literal["prepend"] = "prepend"

    group: int = Field(256, ge=1, le=1 << 20, description="Rows in a row group, the least that is read at once.")

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        return [
            OutputFile(path=file_name(f"{split}.parquet", generation), split=split, start=0, stop=stream.length)
            for split, stream in streams.items()
        ]

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        """The ids without padding."""
        for group in read_groups(path, dtype):
            filled = group.ends[np.cumsum(group.segments) - 1]
            yield group.ids[np.arange(group.ids.shape[1]) < filled[:, None]]
