"""nanoGPT: ``train.bin`` and ``val.bin``, raw little-endian uint16, nothing else in the file."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.formats._files import checked_blocks
from gristmill.formats.base import DataSet, EotSide, Format, OutputFile, Stream
from gristmill.types import file_name


class NanoGPT(Format):
    """The files of nanoGPT's ``data/*/prepare.py``, read by ``np.memmap(path, dtype=np.uint16)`` in its ``train.py``.

    A reader that cannot be told another dtype: a vocabulary above 65,536 ids is refused.
    """

    read_as: ClassVar[Literal["ids", "rows"] | None] = "ids"
    dtypes: ClassVar[tuple[str, ...]] = ("<u2",)

    eot: EotSide = Field("append", description="append (OpenWebText) or none (the Shakespeare examples).")

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        return [
            OutputFile(path=file_name(f"{split}.bin", generation), split=split, start=0, stop=stream.length)
            for split, stream in streams.items()
        ]

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """``meta.pkl`` for a character vocabulary: ``train.py`` takes the vocabulary size and decoding from it. And a
        configuration file; ``train.py`` knows ``train.bin`` alone, so it speaks of the first generation."""
        meta = data.archive / "meta.pkl"
        found = {"meta.pkl": meta.read_bytes()} if meta.exists() else {}
        return {**found, "config.py": CONFIG.format(name=data.name).encode()}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        return checked_blocks(path, dtype)


CONFIG = """\
# For nanoGPT: link this folder as data/{name} there, then: python train.py data/{name}/config.py
dataset = {name!r}
out_dir = 'out-' + dataset
"""
