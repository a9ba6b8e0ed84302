"""nanochat's text shards."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from streams import Documents, put

from gristmill.errors import InputError
from gristmill.formats import nanochat_text
from gristmill.formats.nanochat_text import NanochatText

TEXTS = ["one", "zwei \u00fc", "\u4e2d\u6587", "four\n", "5", "six six"]


def streams(**texts: list[str]) -> dict[str, Documents]:
    return {split: Documents([list(text.encode()) for text in found], "none") for split, found in texts.items()}


def test_the_last_file_is_the_whole_validation_split(tmp_path: Path) -> None:
    """Its loader takes exactly one file for validation: a second one would be trained on."""
    put(tmp_path, NanochatText(shard_bytes=8, world_size=1), streams(train=TEXTS, val=TEXTS))
    files = sorted(tmp_path.glob("*.parquet"))
    assert len(files) > 3
    assert pq.read_table(files[-1])["text"].to_pylist() == TEXTS
    assert [text for path in files[:-1] for text in pq.read_table(path)["text"].to_pylist()] == TEXTS


@pytest.mark.parametrize(("world_size", "groups"), [(1, [3, 3]), (2, [3, 3]), (3, [2, 2, 2]), (6, [1] * 6)])
def test_every_rank_has_a_row_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world_size: int, groups: list[int]
) -> None:
    """A rank without one loops for ever, and says nothing."""
    monkeypatch.setattr(nanochat_text, "ROW_GROUP", 3)
    put(tmp_path, NanochatText(world_size=world_size), streams(train=TEXTS, val=TEXTS))
    for path in tmp_path.glob("*.parquet"):
        found = pq.ParquetFile(path).metadata
        assert [found.row_group(number).num_rows for number in range(found.num_row_groups)] == groups


@pytest.mark.parametrize("shard_bytes", [1, 8, 12, 1000])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 6])
def test_every_rank_has_a_row_group_in_every_file(tmp_path: Path, shard_bytes: int, world_size: int) -> None:
    """Files of fewer documents than ranks leave some rank without any, where all of them are so short."""
    put(tmp_path, NanochatText(shard_bytes=shard_bytes, world_size=world_size), streams(train=TEXTS, val=TEXTS))
    files = sorted(tmp_path.glob("*.parquet"))
    assert all(pq.ParquetFile(path).num_row_groups >= world_size for path in files)
    assert [text for path in files[:-1] for text in pq.read_table(path)["text"].to_pylist()] == TEXTS
    if shard_bytes == 1:
        assert len(files) == 6 // world_size + 1


def test_what_its_loader_would_wait_for_is_refused() -> None:
    """Without a validation file the last train file is one; with one file there is nothing to train on."""
    with pytest.raises(InputError, match="only train has documents"):
        NanochatText(world_size=1).files(dict(streams(train=TEXTS)), 1)
    with pytest.raises(InputError, match="6 documents in the train split, fewer than world_size 8"):
        NanochatText().files(dict(streams(train=TEXTS, val=TEXTS)), 1)


def test_the_files_are_written_as_nanochat_writes_them(tmp_path: Path) -> None:
    """One column of text, zstd, no dictionary."""
    put(tmp_path, NanochatText(world_size=1), streams(train=TEXTS, val=TEXTS))
    column = pq.ParquetFile(tmp_path / "shard_00000.parquet").metadata.row_group(0).column(0)
    assert (column.path_in_schema, column.compression, column.has_dictionary_page) == ("text", "ZSTD", False)
