"""Megatron-LM and GPT-NeoX: ``.bin`` with the ids alone, ``.idx`` with where each document stands."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.errors import InputError
from gristmill.formats._files import checked_blocks, converted, document_ends, quoted
from gristmill.formats.base import DataSet, EotSide, Format, OutputFile, Packed, Stream
from gristmill.types import file_name

MAGIC = b"MMIDIDX\x00\x00"
CODES = {"uint16": 8, "int32": 4}
"""Of dtypes in the ``.idx``; there is none for uint32."""

OPTIMAL_BELOW = 65500
"""Megatron's ``optimal_dtype``: uint16 below so many ids, not up to 65,536, int32 from there on."""

LONGEST = 2**31 - 1


class Megatron(Format):
    """``<split>_text_document.bin`` and ``.idx``, one sequence a document, as ``preprocess_data.py --append-eod``
    writes them (without the option: ``eot: none``) and Megatron's ``IndexedDataset`` reads them.

    The ids are uint16 below a vocabulary of 65,500 and int32 from there on: what the reader is told by the ``.idx``.
    """

    read_as: ClassVar[Literal["ids", "rows"] | None] = "ids"
    eot: EotSide = Field("append", description="append (as with --append-eod), prepend or none.")

    def dtype(self, vocab_size: int) -> np.dtype:
        return np.dtype("<u2") if vocab_size < OPTIMAL_BELOW else np.dtype("<i4")

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        return [
            OutputFile(
                path=file_name(f"{split}_text_document.bin", generation), split=split, start=0, stop=stream.length
            )
            for split, stream in streams.items()
        ]

    def parts(self, packed: Packed, folder: Path) -> list[Path]:
        return converted(packed, folder, self.dtype(packed.tokenizer.vocab_size))

    def companions(self, packed: Packed) -> dict[str, Iterator[bytes]]:
        index = _index(packed, self.dtype(packed.tokenizer.vocab_size))
        return {f"{packed.path.removesuffix('.bin')}.idx": index}

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """The arguments of ``pretrain_gpt.py`` that blend all generations by their tokens."""
        splits = {"train": "train", "val": "valid"}
        lines = [f"--{splits[name]}-data-path {_blend(data, name)}" for name in splits if data.paths(name)]
        text = ARGUMENTS.format(tokenizer=_tokenizer(data), lines="\n".join(lines))
        return {file_name("arguments.txt", data.generation): text.encode()}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        return checked_blocks(path, dtype)


def _tokenizer(data: DataSet) -> str:
    """NullTokenizer's EOD is the id after its vocabulary; it fits where the EOT is the last id."""
    record = data.tokenizer
    if record.eot_id == record.vocab_size - 1:
        return f"--tokenizer-type NullTokenizer\n--vocab-size {record.eot_id}"
    folder = f"{data.folder.rpartition('/')[0]}/tokenizer"
    return f"--tokenizer-type HuggingFaceTokenizer\n--tokenizer-model {quoted(folder)}"


def _blend(data: DataSet, split: str) -> str:
    """Weights and prefixes. A weight is the share of tokens: every part is then read at the same pace."""
    own = [file for file in data.files if file.split == split]
    total = sum(file.tokens for file in own)
    return " ".join(f"{file.tokens / total:.6f} {quoted(data.where(file).removesuffix('.bin'))}" for file in own)


def _index(packed: Packed, dtype: np.dtype) -> Iterator[bytes]:
    """Header, int32 lengths, int64 byte offsets, int64 numbers of the documents' first sequences."""
    count = packed.documents
    yield MAGIC + struct.pack("<QBQQ", 1, CODES[dtype.name], count, count + 1)
    for lengths in packed.lengths():
        if len(lengths) and int(lengths.max()) > LONGEST:
            raise InputError(
                f"megatron: a document has {int(lengths.max())} ids, and its .idx holds lengths up to {LONGEST}; "
                "cut such documents with a cleaning rule"
            )
        yield lengths.astype("<i4").tobytes()
    last = 0
    for ends in document_ends(packed):
        yield (np.concatenate([[last], ends[:-1]]) * dtype.itemsize).astype("<i8").tobytes()
        last = int(ends[-1])
    for first in range(0, count + 1, 1 << 16):
        yield np.arange(first, min(first + (1 << 16), count + 1), dtype="<i8").tobytes()


ARGUMENTS = """\
# For Megatron-LM's pretrain_gpt.py; its index cache must not lie in this folder.
{tokenizer}
--data-cache-path /tmp/megatron-cache
{lines}
"""
