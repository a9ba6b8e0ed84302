"""litdata: chunks of ids with an index, for its ``StreamingDataset`` with a ``TokensLoader``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from gristmill.errors import InputError, VerificationError
from gristmill.formats._files import (
    checked_blocks,
    converted,
    cut,
    document_cuts,
    document_ends,
    generation_folder,
    written,
)
from gristmill.formats.base import DataSet, EotSide, Format, OutputFile, Packed, Stream

TYPE = "no_header_tensor:16"
"""torch.int32 in litdata's table."""


class LitData(Format):
    """``<split>/index.json`` and ``chunk-0-0.bin`` on, as litdata's ``optimize`` writes them from one int32 tensor a
    document. The loader takes blocks out of each chunk for itself and leaves its last, short one out: chunks are best
    much longer than a block.

    A later generation has a folder of its own, ``g00002``: an index speaks of all chunks beside it.
    """

    cut_by: ClassVar[str] = "chunk_tokens"
    eot: EotSide = Field("append", description="append, prepend or none.")
    chunk_tokens: int = Field(
        1 << 24, ge=1, le=1 << 29, description="Ids a chunk, at most (64 MB); a longer document has a chunk of its own."
    )

    def dtype(self, vocab_size: int) -> np.dtype:
        return np.dtype("<i4")

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        return cut(
            streams,
            lambda stream: document_cuts(stream, self.chunk_tokens),
            lambda split, number: f"{generation_folder(generation)}{split}/chunk-0-{number}.bin",
        )

    def parts(self, packed: Packed, folder: Path) -> list[Path]:
        """The number of documents, where each starts in bytes and where the last ends, as uint32; then the ids."""
        first = 4 + 4 * (packed.documents + 1)
        if first + 4 * packed.tokens >= 1 << 32:
            raise InputError(
                f"litdata: {packed.path} would have {first + 4 * packed.tokens} bytes, and its offsets reach 4 GiB; "
                "set a smaller chunk_tokens, or cut long documents with a cleaning rule"
            )

        def offsets() -> Iterator[bytes]:
            yield np.array([packed.documents, first], "<u4").tobytes()
            for ends in document_ends(packed):
                yield (first + 4 * ends).astype("<u4").tobytes()

        table = written(folder / "offsets", offsets())
        return [table, *converted(packed, folder, np.dtype("<i4"))]

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """An index for each split of this generation; litdata's ``CombinedStreamingDataset`` joins generations."""
        found = {}
        for split in sorted({file.split for file in data.files if file.generation == data.generation}):
            chunks = [
                {
                    "chunk_bytes": file.bytes,
                    "chunk_size": file.documents,
                    "dim": file.tokens,
                    "filename": file.path.rpartition("/")[2],
                }
                for file in data.files
                if (file.split, file.generation) == (split, data.generation)
            ]
            index = json.dumps({"chunks": chunks, "config": CONFIG}, sort_keys=True)
            found[f"{generation_folder(data.generation)}{split}/index.json"] = index.encode()
        return found

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        with path.open("rb") as file:
            count = int.from_bytes(file.read(4), "little")
            offset = 4 + 4 * (count + 1)
            start = file.read(4)
            file.seek(offset - 4)
            end = file.read(4)
        if start != offset.to_bytes(4, "little") or end != path.stat().st_size.to_bytes(8, "little")[:4]:
            raise VerificationError(f"{path}: its table of {count} documents does not fit its size")
        return checked_blocks(path, dtype, offset)


CONFIG = {
    "chunk_bytes": 1 << 26,
    "chunk_size": None,
    "compression": None,
    "compression_batch_size": None,
    "compression_level": None,
    "data_format": [TYPE],
    "data_spec": '[1, {"type": null, "context": null, "children_spec": []}]',
    "encryption": None,
    "ipc_compression": None,
    "item_loader": "TokensLoader",
    "types": "tensor",
}
"""What ``optimize`` says of samples that are one tensor."""
