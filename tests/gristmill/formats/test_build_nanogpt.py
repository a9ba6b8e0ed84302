"""build-nanogpt's shards."""

from pathlib import Path

import numpy as np
import pytest
from streams import Documents, put

from gristmill.errors import ConfigError, VerificationError
from gristmill.formats.build_nanogpt import BuildNanoGPT


def test_the_files_are_what_numpy_saves(tmp_path: Path) -> None:
    """A raw file would be no NPY for ``numpy.load``, and one with a header is read by OLMo as 64 ids too many."""
    put(tmp_path, BuildNanoGPT(shard_tokens=3, least_tokens=0), {"train": Documents([[1, 2, 3, 4]], "prepend")})
    for number, ids in ((1, [0, 1, 2]), (2, [3, 4])):
        np.save(tmp_path / "saved.npy", np.array(ids, np.uint16))
        path = tmp_path / f"tokens_train_{number:06d}.npy"
        assert path.read_bytes() == (tmp_path / "saved.npy").read_bytes()


@pytest.mark.parametrize("name", ["train", "retrieval", "a/b", ""])
def test_a_name_that_its_loader_would_take_for_both_splits_is_refused(name: str) -> None:
    """It takes every file with the split's name in its own."""
    with pytest.raises(ConfigError, match="name"):
        BuildNanoGPT.parse({"name": name})


def test_no_other_file_has_a_splits_name_in_it(tmp_path: Path) -> None:
    """Settings named ``train.txt`` would be loaded as ids."""
    streams = {"train": Documents([[1]], "prepend"), "val": Documents([[2]], "prepend")}
    put(tmp_path, BuildNanoGPT(), streams)
    others = [path.name for path in tmp_path.iterdir() if path.is_file() and path.suffix != ".npy"]
    assert others == ["settings.txt"]


def test_another_type_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1, 2], np.int64))
    with pytest.raises(VerificationError, match="NPY header of int64"):
        list(BuildNanoGPT().blocks(tmp_path / "x.npy", np.dtype("<u2")))
