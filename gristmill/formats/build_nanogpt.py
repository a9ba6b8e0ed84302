"""build-nanogpt: shards that ``numpy.load`` opens, every document after its EOT."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.lib import format as npy
from pydantic import Field, field_validator

from gristmill.errors import VerificationError
from gristmill.formats._files import checked_blocks, cut, exact_cuts
from gristmill.formats.base import DataSet, Format, OutputFile, Packed, Stream
from gristmill.types import file_name


class BuildNanoGPT(Format):
    """``<name>_val_000000.npy`` and ``<name>_train_000001.npy`` on, as the ``fineweb.py`` of build-nanogpt saves them:
    real NPY files of one dimension. Its loader takes every file in the folder whose name has the split's in it.

    A reader that converts from uint16 alone: a vocabulary above 65,536 ids is refused.
    """

    read_as: ClassVar[Literal["ids", "rows"] | None] = "ids"
    dtypes: ClassVar[tuple[str, ...]] = ("<u2",)

    cut_by: ClassVar[str] = "shard_tokens"
    eot: Literal["prepend"] = Field("prepend", description="Every document begins with it.")
    name: str = Field(
        "tokens",
        pattern=r"^[A-Za-z0-9.-][A-Za-z0-9._-]*$",
        description="How the file names begin; without train or val in it, which the loader looks for.",
    )
    shard_tokens: int = Field(100_000_000, ge=1, description="Ids a shard, exactly; the last of a split has the rest.")
    least_tokens: int = Field(1 << 20, ge=0, description="A last shard with fewer joins the one before it.")

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if "train" in name or "val" in name:
            raise ValueError("the loader looks for train and val in file names; choose one without")
        return name

    def files(self, streams: dict[str, Stream], generation: int) -> list[OutputFile]:
        least = min(self.least_tokens, self.shard_tokens)
        return cut(
            streams,
            lambda stream: exact_cuts(stream.length, self.shard_tokens, least),
            lambda split, number: file_name(f"{self.name}_{split}_{number + (split == 'train'):06d}.npy", generation),
        )

    def header(self, packed: Packed) -> bytes:
        out = BytesIO()
        said = {"descr": packed.dtype.str, "fortran_order": False, "shape": (packed.tokens,)}
        npy.write_array_header_1_0(out, said)
        return out.getvalue()

    def sidecars(self, data: DataSet) -> dict[str, bytes]:
        """What to change in ``train_gpt2.py``."""
        return {"settings.txt": SETTINGS.format(folder=data.folder).encode()}

    def blocks(self, path: Path, dtype: np.dtype) -> Iterator[np.ndarray]:
        with path.open("rb") as file:
            try:
                npy.read_magic(file)
                shape, _, found = npy.read_array_header_1_0(file)
            except ValueError as error:
                raise VerificationError(f"{path}: no NPY header ({error})") from None
            offset = file.tell()
        count = (path.stat().st_size - offset) // dtype.itemsize
        if (shape, found) != ((count,), dtype):
            raise VerificationError(f"{path}: NPY header of {found} {shape}; expected {dtype} ({count},)")
        return checked_blocks(path, dtype, offset)


SETTINGS = """\
# For build-nanogpt's train_gpt2.py, in DataLoaderLite:
data_root = {folder!r}
"""
