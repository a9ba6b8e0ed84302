"""Packed rows as parquet files: ids, which of them to learn, and where documents end.

One row a record, each with the same number of ids: inputs and, one further on, targets. No column has nulls.

- ``ids``: list of uint16 (uint32 above 65,536 ids). What follows the last document of a row is padding.
- ``mask``: list of bool, one an id: whether to learn to predict it. False in padding.
- ``ends``: list of int32: where each segment of a document ends in the row, exclusive, rising. The last one is where
  padding begins.
- ``skipped``: list of int32, a segment: how many ids of its document stand before it, in an earlier row; above 0 for a
  further piece of a document that was split.
- ``shards``: list of int32, a segment: the input shard of its document, by the manifest's ``source_shards``.

Files are zstd, ids as BYTE_STREAM_SPLIT (any Arrow from 2024 on).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import IOBase
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import VerificationError
from gristmill.storage import disk


@dataclass(frozen=True, kw_only=True)
class RowGroup:
    """Rows as arrays: ``ids`` and ``mask`` are (rows, capacity); ``segments`` says how many segments each row has, and
    the others have an entry a segment, as the columns of the same names."""

    ids: np.ndarray
    mask: np.ndarray
    segments: np.ndarray
    ends: np.ndarray
    skipped: np.ndarray
    shards: np.ndarray


def write_groups(out: BinaryIO | disk.Writer, groups: Iterable[RowGroup], dtype: np.dtype) -> None:
    """Write a file, a row group for each of ``groups``."""
    # Parquet stores uint16 as 32 bits. Split into bytes, the empty halves cost nothing: 1.2 bytes an id at 80 M
    # ids/s, where plain values take 1.6 at 70, and a dictionary 1.6 at 5.
    options = {
        "compression": "zstd",
        "use_dictionary": False,
        "column_encoding": {"ids.list.element": "BYTE_STREAM_SPLIT"},
        "write_statistics": False,
    }
    with pq.ParquetWriter(out, schema(dtype), **options) as writer:
        for group in groups:
            writer.write_batch(_batch(group, dtype), row_group_size=len(group.ids))


def schema(dtype: np.dtype) -> pa.Schema:
    """Columns of a file with ids of this type."""
    items = {
        "ids": pa.from_numpy_dtype(dtype),
        "mask": pa.bool_(),
        "ends": pa.int32(),
        "skipped": pa.int32(),
        "shards": pa.int32(),
    }
    return pa.schema(
        [
            pa.field(name, pa.list_(pa.field("element", item, nullable=False)), nullable=False)
            for name, item in items.items()
        ]
    )


def _batch(group: RowGroup, dtype: np.dtype) -> pa.RecordBatch:
    rows, capacity = group.ids.shape
    whole = np.arange(0, (rows + 1) * capacity, capacity, dtype=np.int32)
    parts = np.concatenate([[0], np.cumsum(group.segments)]).astype(np.int32)
    columns = [(whole, group.ids.astype(dtype, copy=False).reshape(-1)), (whole, group.mask.reshape(-1))]
    columns += [(parts, values.astype(np.int32)) for values in (group.ends, group.skipped, group.shards)]
    types = schema(dtype)
    return pa.RecordBatch.from_arrays(
        [
            pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), type=types.field(place).type)
            for place, (offsets, values) in enumerate(columns)
        ],
        schema=types,
    )


def read_groups(source: Path | IOBase, dtype: np.dtype, groups: Iterable[int] | None = None) -> Iterator[RowGroup]:
    """The row groups of a file, or those of these numbers.

    Raises ``VerificationError`` when it is no such file, or rows differ in length.
    """
    try:
        file = pq.ParquetFile(source)
        if file.schema_arrow != schema(dtype):
            raise VerificationError(f"{source}: columns {file.schema_arrow.names} of other types than rows of {dtype}")
        for number in range(file.num_row_groups) if groups is None else groups:
            yield _group(file.read_row_group(number).combine_chunks().to_batches()[0], source)
    except pa.ArrowInvalid as error:
        raise VerificationError(f"{source}: no parquet file: {error}") from None


def _group(batch: pa.RecordBatch, source: Path | IOBase) -> RowGroup:
    values = {name: batch.column(name).flatten().to_numpy(zero_copy_only=False) for name in batch.schema.names}
    sizes = {name: np.diff(batch.column(name).offsets.to_numpy()) for name in batch.schema.names}
    capacity = int(sizes["ids"][0])
    same = (sizes["ids"] == capacity).all() and (sizes["mask"] == capacity).all()
    if not same or any(
        (sizes[name] != sizes["ends"]).any() or not sizes["ends"].all() for name in ("skipped", "shards")
    ):
        raise VerificationError(f"{source}: its rows are not all of {capacity} ids with their mask and segments")
    return RowGroup(
        ids=values["ids"].reshape(-1, capacity),
        mask=values["mask"].reshape(-1, capacity),
        segments=sizes["ends"],
        ends=values["ends"],
        skipped=values["skipped"],
        shards=values["shards"],
    )
