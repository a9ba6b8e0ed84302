"""nanoGPT: ``train.bin`` and ``val.bin``, raw little-endian uint16, nothing else in the file."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from gristmill.errors import VerificationError
from gristmill.formats.base import EotSide, Format, OutputFile

BLOCK_TOKENS = 1 << 21


class NanoGPT(Format):
    """The files of nanoGPT's ``data/*/prepare.py``, read by ``np.memmap(path, dtype=np.uint16)`` in its ``train.py``.

    A reader that cannot be told another dtype: a vocabulary above 65,536 ids is refused.
    """

    dtypes: ClassVar[tuple[str, ...]] = ("<u2",)

    eot: EotSide = Field("append", description="append (OpenWebText) or none (the Shakespeare examples).")

    def files(self, lengths: dict[str, int]) -> list[OutputFile]:
        return [OutputFile(path=f"{split}.bin", split=split, start=0, stop=length) for split, length in lengths.items()]

    def sidecars(self, tokenizer: Path) -> dict[str, bytes]:
        """``meta.pkl`` for a character vocabulary: ``train.py`` takes the vocabulary size and decoding from it."""
        meta = tokenizer / "meta.pkl"
        return {"meta.pkl": meta.read_bytes()} if meta.exists() else {}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        size = path.stat().st_size
        if size % dtype.itemsize:
            raise VerificationError(f"{path}: {size} bytes is no whole number of {dtype.name} tokens; the file is cut")
        with path.open("rb") as file:
            while data := file.read(BLOCK_TOKENS * dtype.itemsize):
                yield np.frombuffer(data, dtype)
