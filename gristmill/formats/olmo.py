"""OLMo and OLMo-core: raw ids in ``.npy`` parts (no NPY header), and where each document stands."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.formats._files import checked_blocks, cut, document_cuts, document_ends, quoted
from gristmill.formats.base import DataSet, Format, OutputFile, Packed, Stream
from gristmill.text.repeats import repeated_blocks
from gristmill.types import file_name


class Olmo(Format):
    """``<split>/part-00000.npy`` as OLMo's ``MemMapDataset`` and the numpy data sets of OLMo-core map them, each with
    a document index ``part-00000.csv.gz`` in the form that ``dolma tokens`` writes: lines of start, end (in ids, half
    open, EOS included), number in the file, input shard.

    No document crosses two parts: readers of documents drop what stands after a file's last EOS.

    With label masks there is a raw bool for every id of a part in ``label_masks/<split>/``, False where it is not to be
    learned. Not beside the part: whoever lists ``*.npy`` there would train on them.
    """

    read_as: ClassVar[Literal["ids", "rows"] | None] = "ids"
    cut_by: ClassVar[str] = "max_tokens"
    eot: Literal["append"] = Field("append", description="Readers take the last id of a document for its end.")
    max_tokens: int = Field(
        512 << 20, ge=1, description="Ids a part, at most; a document that is longer has a part of its own."
    )
    label_masks: Literal["none", "repetition"] = Field(
        "none",
        description="repetition: a mask hides ids in 32 or more repeats of 1 to 13 ids, the bounds of OLMo's filter.",
    )

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        return cut(
            streams,
            lambda stream: document_cuts(stream, self.max_tokens),
            lambda split, number: file_name(f"{split}/part-{number:05d}.npy", generation),
        )

    def companions(self, packed: Packed) -> dict[str, Iterator[bytes]]:
        return {f"{packed.path.removesuffix('.npy')}.csv.gz": _index(packed)}

    def masks(self, path: str, blocks: Iterator[np.ndarray]) -> dict[str, Iterator[np.ndarray]]:
        if self.label_masks == "none":
            return {}
        return {f"label_masks/{path}": (~marks for marks in repeated_blocks(blocks))}

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """Sections for the configurations of OLMo and OLMo-core, with every part of all generations and its mask.

        OLMo-core's ready-made GPT-2 tokenizer names a BOS; with one, a boundary is an EOS followed by a BOS, and it
        would find no document in these files: the section leaves it out.
        """
        record = data.tokenizer
        dtype = self.dtype(record.vocab_size).name
        values = {"dtype": dtype, "eos": record.eot_id, "vocab_size": record.vocab_size}
        values["tokenizer"] = quoted(f"{data.folder.rpartition('/')[0]}/tokenizer/{record.file}")
        files = listed("paths", data.paths("train")) + listed("label_mask_paths", data.masks("train"))
        return {
            file_name("olmo.yaml", data.generation): (OLMO.format(**values) + files).encode(),
            file_name("olmo-core.yaml", data.generation): (OLMO_CORE.format(**values) + files).encode(),
        }

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        return checked_blocks(path, dtype)


def listed(key: str, paths: list[str]) -> str:
    """A key of a section with its paths; nothing where there are none."""
    return f"  {key}:\n" + "".join(f"    - {quoted(path)}\n" for path in paths) if paths else ""


def _index(packed: Packed) -> Iterator[bytes]:
    """The document index, gzip without a time in it: the same documents give the same bytes."""
    squeezed = zlib.compressobj(6, zlib.DEFLATED, 31)
    number = start = 0
    for ends, shards in zip(document_ends(packed), packed.shards(), strict=True):
        rows = []
        for end, shard in zip(ends.tolist(), shards.tolist(), strict=True):
            rows.append(f"{start},{end},{number},shard-{shard:05d}\r\n")
            start, number = end, number + 1
        yield squeezed.compress("".join(rows).encode())
    yield squeezed.flush()


OLMO = """\
# For OLMo: to be laid over a training configuration.
model:
  vocab_size: {vocab_size}
  eos_token_id: {eos}
  pad_token_id: {eos}
tokenizer:
  identifier: {tokenizer}
data:
  memmap_dtype: {dtype}
  generate_attention_mask: false  # the padding id is the EOS: a mask would hide every EOS
"""

OLMO_CORE = """\
# For OLMo-core: NumpyFSLDatasetConfig and its relatives. Without bos_token_id on purpose: with one, a document ends
# only where a BOS follows the EOS, and none would be found.
dataset:
  tokenizer:
    vocab_size: {vocab_size}
    eos_token_id: {eos}
    pad_token_id: {eos}
  dtype: {dtype}  # never inferred: up to 256 ids it would be uint8
"""
