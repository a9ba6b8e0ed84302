"""nanochat: cleaned text in parquet shards; its loader tokenizes."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from gristmill.errors import InputError, VerificationError
from gristmill.formats._files import document_rows, generation_folder
from gristmill.formats.base import DataSet, Format, OutputFile, Packed, Stream
from gristmill.storage import disk

ROW_GROUP = 1024
COLUMN = "text"


class NanochatText(Format):
    """``shard_00000.parquet`` on with a column ``text``, zstd, 1,024 documents a row group; the last file is the
    whole validation split, as nanochat's loader takes it.

    Rank r of W reads the row groups r, r + W, ... of each file and waits for ever where none has any for it: a file
    has ``world_size`` documents or more, and smaller groups where they are too few for as many groups of 1,024. A later
    generation has a folder of its own, ``g00002``, to be linked: its files must not come after the last one.
    """

    version: ClassVar[int] = 2  # 1 made files of fewer documents than ranks

    holds: ClassVar[Literal["tokens", "text"]] = "text"

    cut_by: ClassVar[str] = "shard_bytes"
    eot: Literal["none"] = Field("none", description="Text has none.")
    shard_bytes: int = Field(
        250_000_000,
        ge=1,
        description="Bytes of text a file, at most, unless a document for every rank takes more; as nanochat has it.",
    )
    world_size: int = Field(8, ge=1, description="Ranks that are to train with it, at most.")

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        if generation == 1 and set(streams) != {"train", "val"}:
            raise InputError(
                f"nanochat_text: only {' and '.join(streams)} has documents; nanochat takes the last file for "
                "validation and the others for training: hold documents out with split"
            )
        found: list[OutputFile] = []
        folder = generation_folder(generation)
        for split, stream in streams.items():
            if generation == 1 and stream.documents < self.world_size:
                raise InputError(
                    f"nanochat_text: {stream.documents} documents in the {split} split, fewer than world_size "
                    f"{self.world_size}; a rank without a row group would wait for ever: hold out more, or set "
                    "a smaller world_size"
                )
            edges = self._edges(stream) if split == "train" else [0, stream.length]
            for start, stop in itertools.pairwise(edges):
                path = f"{folder}shard_{len(found):05d}.parquet"
                found.append(OutputFile(path=path, split=split, start=start, stop=stop))
        return found

    def _edges(self, stream: Stream) -> list[int]:
        """Edges of files that have a document for every rank, where there are so many; too few at the end belong to the
        file before."""
        found = [0]
        while (enough := self._enough(stream, found[-1])) is not None:
            fits = stream.start_before(min(found[-1] + self.shard_bytes, stream.length))
            found.append(max(fits, enough))
        return [0, *found[1:-1], stream.length]

    def _enough(self, stream: Stream, start: int) -> int | None:
        """Where as many documents as ranks end; None where fewer are left."""
        for _ in range(self.world_size):
            if start >= stream.length:
                return None
            start = stream.start_after(start + 1)
        return start

    def parts(self, packed: Packed, folder: Path) -> list[Path]:
        group = max(1, min(ROW_GROUP, packed.documents // self.world_size))
        path = folder / "rows.parquet"
        with disk.Writer(path) as out, pq.ParquetWriter(out, SCHEMA, **OPTIONS) as rows:
            for documents in document_rows(packed, group):
                texts = pa.array([document.tobytes().decode() for document in documents], pa.string())
                rows.write_batch(pa.record_batch([texts], schema=SCHEMA), group)
        return [path]

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """How nanochat finds the files."""
        name = f"{generation_folder(data.generation)}settings.txt"
        last = [file for file in data.files if file.split == "val" and file.generation == 1]
        ordered = [file for file in data.files if file not in last] + last
        lines = [f"ln -s '{data.where(file)}' shard_{number:05d}.parquet" for number, file in enumerate(ordered)]
        return {name: SETTINGS.format(links="\n".join(lines)).encode()}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(ROW_GROUP, columns=[COLUMN]):
                    texts = batch.column(COLUMN)
                    data = np.frombuffer(texts.buffers()[2], dtype)
                    offsets = np.frombuffer(texts.buffers()[1], "<i4")[texts.offset :][: len(texts) + 1]
                    yield data[offsets[0] : offsets[-1]]
        except (pa.ArrowException, KeyError) as error:
            raise VerificationError(f"{path}: no parquet file with {COLUMN} ({error})") from None


SCHEMA = pa.schema([pa.field(COLUMN, pa.string(), nullable=False)])

OPTIONS = {"compression": "zstd", "compression_level": 3, "use_dictionary": False, "write_statistics": False}
"""As nanochat's own writer has them."""

SETTINGS = """\
# For nanochat: links to all files, the validation file last; in $NANOCHAT_BASE_DIR/base_data_climbmix:
{links}
"""
