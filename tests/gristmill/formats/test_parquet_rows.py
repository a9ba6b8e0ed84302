"""The format of packed rows: files, and content without padding."""

from pathlib import Path

import numpy as np
import pytest

from gristmill.errors import ConfigError
from gristmill.formats.base import OutputFile
from gristmill.formats.parquet_rows import ParquetRows
from gristmill.rows import RowGroup, write_groups


def test_one_file_a_split() -> None:
    assert ParquetRows().files({"train": 10}) == [OutputFile(path="train.parquet", split="train", start=0, stop=10)]


def test_padding_is_no_content(tmp_path: Path) -> None:
    """It consists of the end-of-text id: counted as such, every padded row would hold documents that are none."""
    ids = np.arange(16, dtype="<u2").reshape(2, 8)
    group = RowGroup(
        ids=ids,
        mask=np.ones(ids.shape, bool),
        segments=np.array([2, 1]),
        ends=np.array([3, 5, 8]),
        skipped=np.zeros(3, int),
        shards=np.zeros(3, int),
    )
    with (tmp_path / "x").open("wb") as out:
        write_groups(out, [group], np.dtype("<u2"))
    (block,) = ParquetRows().blocks(tmp_path / "x", np.dtype("<u2"))
    assert block.tolist() == [0, 1, 2, 3, 4, *range(8, 16)]


def test_documents_start_with_start_of_text() -> None:
    assert ParquetRows().eot == "prepend"
    with pytest.raises(ConfigError, match="'prepend'"):
        ParquetRows.parse({"eot": "append"})
