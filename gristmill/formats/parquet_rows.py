"""Parquet files of packed rows: ids, which of them to learn, and where documents end."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.formats.base import OutputFile, RowFormat, Stream
from gristmill.storage import disk
from gristmill.storage.rows import RowGroup, read_groups, write_groups
from gristmill.types import file_name


class ParquetRows(RowFormat):
    """Rows that a packing made, one a record: ``ids``, ``mask``, and by segment ``ends``, ``skipped`` and ``shards``;
    ``gristmill.storage.rows`` describes them.

    Every document starts with the end-of-text id, as start of text, and rows are filled up with it. A row group is what
    is read at once: 256 rows of 2,049 ids are 1 MB.
    """

    read_as: ClassVar[Literal["ids", "rows"] | None] = "rows"
    cut_by: ClassVar[str] = "file_ids"
    eot: Literal["prepend"] = Field("prepend", description="Every document begins with it.")

    file_ids: int = Field(
        1 << 26, ge=1 << 10, description="Ids that are packed together into a file, to the end of a document."
    )

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        return [
            OutputFile(path=file_name(f"{split}-{number:05d}.parquet", generation), split=split, start=start, stop=stop)
            for split, stream in streams.items()
            for number, (start, stop) in enumerate(itertools.pairwise(self._edges(stream)))
        ]

    def _edges(self, stream: Stream) -> list[int]:
        """Document starts about ``file_ids`` apart; the rest after the last whole file belongs to it, since a short
        file may make no row."""
        found = [0]
        for _ in range(stream.length // self.file_ids - 1):
            found.append(stream.start_after(found[-1] + self.file_ids))
        return [*dict.fromkeys([*(edge for edge in found if edge < stream.length), stream.length])]

    def write(self, out: disk.Writer, groups: Iterator[RowGroup], dtype: np.dtype) -> None:
        write_groups(out, groups, dtype)

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        """The ids without padding."""
        for group in read_groups(path, dtype):
            filled = group.ends[np.cumsum(group.segments) - 1]
            yield group.ids[np.arange(group.ids.shape[1]) < filled[:, None]]
