"""A folder that ``datasets.load_dataset`` opens: parquet with the ids of one document a row, and a card."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from gristmill.errors import VerificationError
from gristmill.formats._files import cut, document_cuts, document_rows
from gristmill.formats.base import DataSet, EotSide, Format, OutputFile, Packed, Stream
from gristmill.storage import disk
from gristmill.types import file_name

COLUMN = "input_ids"
NAMES = {"train": "train", "val": "validation"}
"""Of splits, as ``datasets`` finds them in the names of files."""


class HuggingFace(Format):
    """``data/train-00000.parquet`` on and ``data/validation-00000.parquet`` on, with a column ``input_ids`` of uint16
    or int32: the ids of one document, EOT included; and a data card, ``README.md``.
    """

    cut_by: ClassVar[str] = "max_tokens"
    eot: EotSide = Field("append", description="append, prepend or none.")
    max_tokens: int = Field(1 << 28, ge=1, description="Ids a file, at most; a longer document has a file of its own.")
    row_group: int = Field(1000, ge=1, description="Documents a row group.")

    def dtype(self, vocab_size: int) -> np.dtype:
        return np.dtype("<u2") if vocab_size <= 1 << 16 else np.dtype("<i4")

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        return cut(
            streams,
            lambda stream: document_cuts(stream, self.max_tokens),
            lambda split, number: file_name(f"data/{NAMES[split]}-{number:05d}.parquet", generation),
        )

    def parts(self, packed: Packed, folder: Path) -> list[Path]:
        kind = pa.from_numpy_dtype(self.dtype(packed.tokenizer.vocab_size))
        schema = pa.schema([pa.field(COLUMN, pa.list_(pa.field("element", kind, nullable=False)), nullable=False)])
        path = folder / "rows.parquet"
        with disk.Writer(path) as out, pq.ParquetWriter(out, schema, **OPTIONS) as rows:
            for documents in document_rows(packed, self.row_group):
                offsets = pa.array(np.cumsum([0, *map(len, documents)]), pa.int32())
                ids = pa.array(np.concatenate(documents), pa.from_numpy_dtype(packed.dtype)).cast(kind)
                column = pa.ListArray.from_arrays(offsets, ids, type=schema.field(0).type)
                rows.write_batch(pa.record_batch([column], schema=schema), self.row_group)
        return [path]

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """The data card. It holds for all generations; what they have is in the manifest."""
        record = data.tokenizer
        values = {
            "name": json.dumps(data.name),
            "title": data.name,
            "tokenizer": record.name,
            "sha256": record.sha256,
            "vocab_size": record.vocab_size,
            "eot": f"The end-of-text id {record.eot_id}: {self.eot}." if self.eot != "none" else "No end-of-text id.",
            "dtype": self.dtype(record.vocab_size).name,
        }
        return {"README.md": CARD.format(**values).encode()}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(self.row_group, columns=[COLUMN]):
                    ids = batch.column(COLUMN).flatten().to_numpy()
                    if ids.dtype != dtype:
                        raise VerificationError(f"{path}: {COLUMN} of {ids.dtype}; expected {dtype}")
                    yield ids
        except (pa.ArrowException, KeyError) as error:
            raise VerificationError(f"{path}: no parquet file with {COLUMN} ({error})") from None


OPTIONS = {"compression": "zstd", "compression_level": 3, "use_dictionary": False, "write_statistics": False}
"""Ids repeat too little within a row group for a dictionary."""

CARD = """\
---
pretty_name: {name}
task_categories:
- text-generation
---

# {title}

Text as ids, one document a row in `{COLUMN}` ({dtype}).

- Tokenizer: {tokenizer} (sha256 {sha256}), {vocab_size} ids.
- {eot}
- Counts, sources and the sum of every file: `manifest.json` of the data set that this folder is part of.
"""
CARD = CARD.replace("{COLUMN}", COLUMN)
