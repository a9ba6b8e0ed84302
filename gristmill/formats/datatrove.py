"""datatrove and nanotron: ``.ds`` with the ids, ``.ds.index`` with the documents' ends, ``.ds.metadata``."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.formats._files import checked_blocks, cut, document_cuts, document_ends, quoted
from gristmill.formats.base import DataSet, EotSide, Format, OutputFile, Packed, Stream
from gristmill.types import file_name


class Datatrove(Format):
    """``<split>/00000.ds`` and its ``.index`` and ``.metadata`` as datatrove's ``DocumentTokenizer`` writes them, read
    by its ``DatatroveFolderDataset`` in windows of one id more than the sequence, laid end to end.

    No document crosses two files. The index holds cumulative ends, never twice the same: a reader that met an empty
    document would no longer tell documents apart.
    """

    read_as: ClassVar[Literal["ids", "rows"] | None] = "ids"
    cut_by: ClassVar[str] = "max_tokens"
    eot: EotSide = Field("append", description="append (datatrove with an eos_token), prepend or none (its default).")
    max_tokens: int = Field(1 << 30, ge=1, description="Ids a file, at most; a longer document has a file of its own.")
    tokenizer: str = Field(
        "",
        pattern=r"^[^|\n]*$",
        description="Name in the metadata, which nanotron loads with AutoTokenizer; default: the tokenizer's own.",
    )

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        return cut(
            streams,
            lambda stream: document_cuts(stream, self.max_tokens),
            lambda split, number: file_name(f"{split}/{number:05d}.ds", generation),
        )

    def companions(self, packed: Packed) -> dict[str, Iterator[bytes]]:
        name = (self.tokenizer or packed.tokenizer.name).replace("|", "/").replace("\n", " ")
        text = f"{name}|{packed.dtype.itemsize}\n{packed.tokens}\n{_metric(packed.tokens)}"
        ends = (ends.astype("<u8").tobytes() for ends in document_ends(packed))
        return {f"{packed.path}.index": ends, f"{packed.path}.metadata": iter([text.encode()])}

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """How nanotron and datatrove open the folder."""
        size = self.dtype(data.tokenizer.vocab_size).itemsize
        values = {"folder": quoted(f"{data.folder}/train"), "size": size, "vocab_size": data.tokenizer.vocab_size}
        return {"nanotron.yaml": NANOTRON.format(**values).encode()}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        return checked_blocks(path, dtype)


def _metric(count: int) -> str:
    """``107 kT``: three digits and a prefix, by the rule of ``humanize.metric``."""
    exponent = math.floor(math.log10(count))
    prefix = " " + ("", "k", "M", "G", "T", "P")[exponent // 3]
    return f"{count / 10 ** (exponent // 3 * 3):.{2 - exponent % 3}f}{prefix}T"


NANOTRON = """\
# For nanotron; datatrove's own reader: DatatroveFolderDataset(data_folder, seq_len, token_size={size}).
data_stages:
- name: stable
  start_training_step: 1
  data:
    dataset:
      dataset_folder: {folder}
      dataset_weights: [1.0]
      vocab_size: {vocab_size}
      token_size_in_bytes: {size}
"""
