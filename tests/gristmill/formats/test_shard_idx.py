"""Shards with offsets."""

import itertools
from pathlib import Path

import numpy as np
from streams import Documents, put

from gristmill.formats.shard_idx import ShardIdx


def test_offsets_cut_a_shard_into_its_documents(tmp_path: Path) -> None:
    """Numbers start at 1, offsets at 0 in every shard, and the last is the number of ids."""
    put(tmp_path, ShardIdx(max_tokens=6), {"train": Documents([[1, 2, 3], [4], [5, 6]])})
    first, second = (np.fromfile(tmp_path / "train" / f"shard_0000{number}.bin", "<u2") for number in (1, 2))
    offsets = np.fromfile(tmp_path / "train" / "shard_00001.idx", "<u8").tolist()
    assert offsets == [0, 4, 6]
    assert [first[a:b].tolist() for a, b in itertools.pairwise(offsets)] == [[1, 2, 3, 0], [4, 0]]
    assert np.fromfile(tmp_path / "train" / "shard_00002.idx", "<u8").tolist() == [0, 3] == [0, len(second)]


def test_a_document_longer_than_a_shard_has_its_own(tmp_path: Path) -> None:
    """dolma never ends on such a document, and writes file after file."""
    put(tmp_path, ShardIdx(max_tokens=3), {"val": Documents([[1], [2] * 9, [3]])})
    sizes = [path.stat().st_size // 2 for path in sorted((tmp_path / "val").glob("*.bin"))]
    assert sizes == [2, 10, 2]
