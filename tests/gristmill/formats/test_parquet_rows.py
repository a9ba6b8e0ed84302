"""The format of packed rows: files, and content without padding."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from streams import Documents

from gristmill.errors import ConfigError
from gristmill.formats.parquet_rows import ParquetRows
from gristmill.storage.rows import RowGroup, write_groups


def test_files_end_where_documents_do() -> None:
    """A document that went on in the next file would be packed as two; a short last file may make no row."""
    stream = Documents([range(700)] * 10, "prepend")
    files = ParquetRows(file_ids=1024).files({"train": stream}, 1)
    assert [(file.path, file.start, file.stop) for file in files] == [
        (f"train-{number:05d}.parquet", *edges)
        for number, edges in enumerate(itertools.pairwise([0, 1402, 2804, 4206, 5608, 7010]))
    ]
    assert len(ParquetRows().files({"train": stream}, 1)) == 1


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
