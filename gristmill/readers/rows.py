"""Packed rows, with their masks."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from gristmill.errors import ConfigError
from gristmill.readers._bytes import Opened
from gristmill.readers._published import bare_rows, data_set, is_data_set
from gristmill.readers._samples import Read
from gristmill.storage.rows import RowGroup, read_groups
from gristmill.types import PublishedFile

KEPT_GROUPS = 24
"""Row groups in memory, 3 bytes an id: 38 MB at 256 rows of 2,049. Under ``shuffle: blocks`` 16 are open at a time."""


class Rows:
    """The rows that a packing made; ``length`` is theirs, one less than the ids of a row.

    path: a data set, or a file of rows without one, as of conversations.
    split, generations, dtype, tokenizer: as for ``Windows``.

    Of documents whose input is gone no id is seen and none is learned: they become padding. Raises ``ConfigError``
    where there are no rows or they are of other ids.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        split: str = "train",
        generations: int | None = None,
        dtype: str | None = None,
        tokenizer: str | None = None,
    ) -> None:
        self._from = (
            data_set(path, split=split, holds="rows", generations=generations, dtype=dtype, tokenizer=tokenizer)
            if is_data_set(path)
            else bare_rows(path)
        )
        self._groups: list[tuple[PublishedFile, int, tuple[int, int]]] = []
        counts: list[int] = []
        for file in self._from.files:
            metadata = pq.read_metadata(Opened(self._from.parts, file))
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                self._groups.append((file, number, _span(group)))
                counts.append(group.num_rows)
        self.blocks = np.array(counts, np.int64)
        self._first = np.concatenate([[0], np.cumsum(self.blocks)])
        self._removed = np.array(sorted(self._from.removed), np.int64)
        self._group = lru_cache(maxsize=KEPT_GROUPS)(self._read_group)
        capacities = {self._group(number).ids.shape[1] for number in (0, len(counts) - 1)}
        if len(capacities) > 1:
            raise ConfigError(f"{path}: its generations have rows of {sorted(capacities)} ids; read them apart")
        self.length = capacities.pop() - 1

    @property
    def content(self) -> list[str]:
        return [f"rows of {self.length} without {self._removed.tolist()}", *self._from.content]

    def read(self, numbers: np.ndarray) -> Read:
        ids = np.empty((len(numbers), self.length + 1), np.int64)
        mask = np.empty(ids.shape, bool)
        groups = np.searchsorted(self._first, numbers, "right") - 1
        for number in np.unique(groups).tolist():
            here = np.flatnonzero(groups == number)
            group, rows = self._group(number), numbers[here] - self._first[number]
            ids[here], mask[here] = group.ids[rows], group.mask[rows]
        return Read(ids=ids, mask=mask)

    def expect(self, numbers: np.ndarray) -> None:
        for number in np.unique(np.searchsorted(self._first, numbers, "right") - 1).tolist():
            file, _, span = self._groups[number]
            self._from.parts.expect(file, *span)

    def _read_group(self, number: int) -> RowGroup:
        file, group, _ = self._groups[number]
        (found,) = read_groups(Opened(self._from.parts, file), self._from.dtype, [group])
        gone = np.isin(found.shards, self._removed)
        return _without(found, gone, self._from.eot_id or 0) if gone.any() else found


def _span(group: pq.RowGroupMetaData) -> tuple[int, int]:
    """The bytes of a row group."""
    columns = [group.column(number) for number in range(group.num_columns)]
    starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    ends = [start + column.total_compressed_size for start, column in zip(starts, columns, strict=True)]
    return min(starts), max(ends)


def _without(group: RowGroup, gone: np.ndarray, pad: int) -> RowGroup:
    """The rows with some of their segments turned into padding."""
    ids, mask = group.ids.copy(), group.mask.copy()
    row = np.repeat(np.arange(len(ids)), group.segments)
    first = np.concatenate([[True], row[1:] != row[:-1]])
    starts = np.where(first, 0, np.concatenate([[0], group.ends[:-1]]))
    for segment in np.flatnonzero(gone).tolist():
        place = row[segment], slice(int(starts[segment]), int(group.ends[segment]))
        ids[place], mask[place] = pad, False
    return RowGroup(
        ids=ids, mask=mask, segments=group.segments, ends=group.ends, skipped=group.skipped, shards=group.shards
    )
