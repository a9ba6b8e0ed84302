"""llm.c and modded-nanogpt: 256 int32 of header, then the ids; every document after its EOT."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.errors import VerificationError
from gristmill.formats._files import checked_blocks, cut, exact_cuts
from gristmill.formats.base import DataSet, Format, OutputFile, Packed, Stream
from gristmill.types import file_name

HEADER_BYTES = 1024
MAGIC = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
"""Magic number and version: GPT-2 ids, which all its readers take, and Llama 3 ids for ``train_llama3.py`` alone."""


class LlmC(Format):
    """``<name>_val_000000.bin`` and ``<name>_train_000001.bin`` on, as llm.c's ``write_datafile`` writes them.

    Shards hold exactly ``shard_tokens`` ids and documents go on from one to the next, as the reader wants it; the
    last one of a split holds what is left, and joins the one before it when that is too little for a batch.
    """

    read_as: ClassVar[Literal["ids", "rows"] | None] = "ids"
    cut_by: ClassVar[str] = "shard_tokens"
    eot: Literal["prepend"] = Field("prepend", description="Readers look for the EOT at the start of a document.")
    name: str = Field("tokens", pattern=r"^[A-Za-z0-9.-][A-Za-z0-9._-]*$", description="How the file names begin.")
    shard_tokens: int = Field(100_000_000, ge=1, lt=(2**31 - HEADER_BYTES) // 4, description="Ids a shard, exactly.")
    least_tokens: int = Field(
        1 << 20,
        ge=0,
        description="A last shard with fewer joins the one before: the C loader stops at a shard without a whole step.",
    )

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        least = min(self.least_tokens, self.shard_tokens)
        return cut(
            streams,
            lambda stream: exact_cuts(stream.length, self.shard_tokens, least),
            lambda split, number: file_name(f"{self.name}_{split}_{number + (split == 'train'):06d}.bin", generation),
        )

    def header(self, packed: Packed) -> bytes:
        magic, version = MAGIC[packed.dtype.name]
        return struct.pack("<3i", magic, version, packed.tokens).ljust(HEADER_BYTES, b"\0")

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """The arguments of ``train_gpt2``."""
        return {"arguments.txt": ARGUMENTS.format(prefix=f"{data.folder}/{self.name}").encode()}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        with path.open("rb") as file:
            head = file.read(HEADER_BYTES)
        tokens = (path.stat().st_size - HEADER_BYTES) // dtype.itemsize
        wanted = struct.pack("<3i", *MAGIC[dtype.name], tokens).ljust(HEADER_BYTES, b"\0")
        if head != wanted:
            raise VerificationError(
                f"{path}: no header of llm.c for {tokens} {dtype.name} ids in its first 1,024 bytes"
            )
        return checked_blocks(path, dtype, HEADER_BYTES)


ARGUMENTS = """\
# For llm.c's train_gpt2cu and train_gpt2.py (--input_bin, --input_val_bin there); modded-nanogpt wants two train shards
# or more and a validation shard of more than 10,485,760 ids.
-i "{prefix}_train_*.bin"
-j "{prefix}_val_*.bin"
"""
