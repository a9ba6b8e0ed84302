"""Documents on disk between stages: Arrow IPC files, compressed."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from gristmill import places, storage
from gristmill.types import Artifact

COMPRESSION = pa.Codec("lz4")
"""A file is written once and read three times. CPU seconds for 34 MB of text: 0.056 and 0.008 each time, 17 MB; zstd of
level 1 takes 0.070 and 0.021, 12 MB; uncompressed the disk is what counts."""


class DocumentWriter:
    """Writes record batches of one schema to a file in a stage's folder."""

    def __init__(self, path: Path, compressed: bool = True) -> None:
        self._out = storage.Writer(path)
        self._options = ipc.IpcWriteOptions(compression=COMPRESSION if compressed else None)
        self._writer: ipc.RecordBatchFileWriter | None = None
        self.batches = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch; an empty one only fixes the schema."""
        if self._writer is None:
            self._writer = ipc.new_file(self._out, batch.schema, options=self._options)
        if len(batch):
            self._writer.write_batch(batch)

    def discard(self) -> None:
        """Remove what was written."""
        if not self._out.closed:
            self._out.discard()

    def close(self, schema: pa.Schema) -> Artifact:
        """Finish the file; ``schema`` is used where nothing was written."""
        if self._writer is None:
            self.write(pa.RecordBatch.from_pylist([], schema))
        assert self._writer is not None
        self._writer.close()
        self._out.close()
        return self._out.artifact


def batches(artifact: Artifact) -> Iterator[pa.RecordBatch]:
    """The record batches of a file, one at a time."""
    path = places.here(artifact)
    with storage.translated(path), pa.memory_map(str(path)) as file:
        reader = ipc.open_file(file)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def characters(texts: pa.StringArray) -> int:
    """Code points in all texts."""
    return int(pc.sum(pc.utf8_length(texts)).as_py() or 0)
