"""MDS shards."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import yaml
from streams import Documents, put

from gristmill.errors import InputError, VerificationError
from gristmill.formats.mds import Mds


def sample(path: Path, number: int) -> bytes:
    """One sample by the offsets at the start of the shard."""
    data = path.read_bytes()
    start, stop = struct.unpack_from("<2I", data, 4 + 4 * number)
    return data[start:stop]


@pytest.mark.parametrize(("length", "shape"), [(4, b"\x04\x04"), (300, b"\x05\x2c\x01")])
def test_a_sample_says_its_size_and_shape(tmp_path: Path, length: int, shape: bytes) -> None:
    """int32 whatever the vocabulary, one dimension, its length in the smallest type that holds it."""
    ids = list(range(1, 2 * length))
    put(tmp_path, Mds(max_length=length), {"train": Documents([ids])})
    for number in (0, 1):
        body = shape + np.array([*ids, 0][number * length : (number + 1) * length], "<i4").tobytes()
        assert sample(tmp_path / "train" / "shard.00000.mds", number) == struct.pack("<I", len(body)) + body


def test_what_fills_no_sample_is_left_out_and_the_index_adds_up(tmp_path: Path) -> None:
    """llm-foundry stacks samples: a shorter one stops the training run in its last step."""
    files = put(tmp_path, Mds(max_length=500, size_limit=4096), {"train": Documents([list(range(1, 1800))])})
    index = json.loads((tmp_path / "train" / "index.json").read_text())
    assert [shard["samples"] for shard in index["shards"]] == [1, 1, 1]
    assert sum(file.tokens for file in files) == 1500
    for shard in index["shards"]:
        raw = shard["raw_data"]
        assert (tmp_path / "train" / raw["basename"]).stat().st_size == raw["bytes"] <= 4096
    loader = yaml.safe_load((tmp_path / "llm-foundry.yaml").read_text())["train_loader"]
    assert loader["dataset"] == {
        "streams": {"g1": {"local": str(tmp_path / "train")}}, "max_seq_len": 500, "shuffle": True
    }  # fmt: skip


def test_a_split_without_one_sample_is_refused_once() -> None:
    """In the first generation it is a mistake; later ones may be small."""
    streams = {"train": Documents([[1] * 50]), "val": Documents([[1]])}
    with pytest.raises(InputError, match="the val split has 2 ids, and a sample has 20"):
        Mds(max_length=20).files(dict(streams), 1)
    assert [file.path for file in Mds(max_length=20).files(dict(streams), 2)] == ["g00002/train/shard.00000.mds"]


def test_a_damaged_sample_is_refused(tmp_path: Path) -> None:
    put(tmp_path, Mds(max_length=4), {"train": Documents([[1, 2, 3] * 5])})
    path = tmp_path / "train" / "shard.00000.mds"
    data = bytearray(path.read_bytes())
    data[-22] += 1
    path.write_bytes(data)
    with pytest.raises(VerificationError, match="a sample that is no array of 4 int32"):
        list(Mds(max_length=4).blocks(path, np.dtype("<i4")))
