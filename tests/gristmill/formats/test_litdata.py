"""litdata's chunks."""

import json
from pathlib import Path

import numpy as np
import pytest
from streams import Documents, packed, put

from gristmill.errors import InputError
from gristmill.formats.base import OutputFile
from gristmill.formats.litdata import LitData


def test_a_chunk_is_a_table_and_int32_ids(tmp_path: Path) -> None:
    """Offsets are absolute; the loader skips the table by the count of documents in the index."""
    put(tmp_path, LitData(chunk_tokens=6), {"train": Documents([[1, 2, 3], [4], [5, 6]])})
    data = np.fromfile(tmp_path / "train" / "chunk-0-0.bin", "<u4").tolist()
    assert data == [2, 16, 32, 40, 1, 2, 3, 0, 4, 0]
    index = json.loads((tmp_path / "train" / "index.json").read_text())
    assert index["chunks"] == [
        {"chunk_bytes": 40, "chunk_size": 2, "dim": 6, "filename": "chunk-0-0.bin"},
        {"chunk_bytes": 24, "chunk_size": 1, "dim": 3, "filename": "chunk-0-1.bin"},
    ]
    assert index["config"]["data_format"] == ["no_header_tensor:16"]


def test_a_chunk_that_offsets_cannot_reach_is_refused(tmp_path: Path) -> None:
    """uint32 offsets wrap around at 4 GiB."""
    file = OutputFile(path="train/chunk-0-0.bin", split="train", start=0, stop=2)
    made = packed(tmp_path, LitData(), file, Documents([[1]]))
    huge = type(made)(**{**{name: getattr(made, name) for name in made.__struct_fields__}, "tokens": 1 << 30})
    with pytest.raises(InputError, match="offsets reach 4 GiB"):
        LitData().parts(huge, tmp_path)
