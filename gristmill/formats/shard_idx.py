"""Numbered shards of raw ids, each with the offsets of its documents: for loaders that map both."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.formats._files import checked_blocks, cut, document_cuts, document_ends
from gristmill.formats.base import EotSide, Format, OutputFile, Packed, Stream
from gristmill.types import file_name


class ShardIdx(Format):
    """``<split>/shard_00001.bin`` with the ids alone, and ``shard_00001.idx``: little-endian uint64, for each document
    the place of its first id, EOT counted to it, and at the end the number of ids. Document ``i`` is
    ``ids[offsets[i]:offsets[i + 1]]``; no document crosses two shards.
    """

    read_as: ClassVar[Literal["ids", "rows"] | None] = "ids"
    cut_by: ClassVar[str] = "max_tokens"
    eot: EotSide = Field("append", description="append, prepend or none.")
    max_tokens: int = Field(
        1 << 29,
        ge=1,
        description="Ids a shard, at most: 1 GB of uint16, 2 GB of uint32; a longer document has its own.",
    )

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        return cut(
            streams,
            lambda stream: document_cuts(stream, self.max_tokens),
            lambda split, number: file_name(f"{split}/shard_{number + 1:05d}.bin", generation),
        )

    def companions(self, packed: Packed) -> dict[str, Iterator[bytes]]:
        return {f"{packed.path.removesuffix('.bin')}.idx": _offsets(packed)}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        return checked_blocks(path, dtype)


def _offsets(packed: Packed) -> Iterator[bytes]:
    yield np.zeros(1, "<u8").tobytes()
    for ends in document_ends(packed):
        yield ends.astype("<u8").tobytes()
