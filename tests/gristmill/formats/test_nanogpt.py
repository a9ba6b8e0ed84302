"""nanoGPT's files: names, type, bytes, side files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import Documents, put, record

from gristmill.errors import ConfigError, VerificationError
from gristmill.formats import base
from gristmill.formats.base import DataSet, OutputFile
from gristmill.formats.nanogpt import NanoGPT

U2 = np.dtype("<u2")


def test_one_file_a_split_with_all_of_its_tokens() -> None:
    """train.py opens exactly these two names."""
    streams = {"train": Documents([[1] * 9]), "val": Documents([[1, 2]])}
    assert NanoGPT().files(dict(streams), 1) == [
        OutputFile(path="train.bin", split="train", start=0, stop=10),
        OutputFile(path="val.bin", split="val", start=0, stop=3),
    ]
    assert [file.path for file in NanoGPT().files({"train": streams["train"]}, 2)] == ["train-g00002.bin"]


def test_nothing_but_ids_is_in_the_file(tmp_path: Path) -> None:
    """A header would be read as tokens; train.py knows no other type than uint16."""
    put(tmp_path, NanoGPT(), {"train": Documents([[5, 6], [7]])})
    assert np.fromfile(tmp_path / "train.bin", "<u2").tolist() == [5, 6, 0, 7, 0]
    assert NanoGPT.dtypes == ("<u2",)


@given(st.lists(st.integers(0, 65535), max_size=50), st.integers(1, 7))
def test_what_is_read_is_what_was_written(tmp_path_factory: pytest.TempPathFactory, ids: list[int], step: int) -> None:
    """Blocks that lose or repeat an id at their edges would make every count wrong."""
    path = tmp_path_factory.mktemp("ids") / "train.bin"
    path.write_bytes(np.array(ids, U2).tobytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "BLOCK_BYTES", 2 * step)
        blocks = list(NanoGPT().blocks(path, U2))
    assert [token for block in blocks for token in block.tolist()] == ids
    assert all(0 < len(block) <= step and block.dtype == U2 for block in blocks)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    """numpy would leave the odd byte out without a word."""
    (tmp_path / "train.bin").write_bytes(b"abc")
    with pytest.raises(VerificationError, match=r"train\.bin: 3 bytes is no whole number of uint16"):
        list(NanoGPT().blocks(tmp_path / "train.bin", U2))


def test_the_vocabulary_of_characters_goes_beside_the_files(tmp_path: Path) -> None:
    """Without meta.pkl train.py takes 50,304 ids and sample.py decodes as GPT-2."""
    about = DataSet(name="demo", folder="/x", generation=1, files=[], tokenizer=record(), archive=tmp_path)
    assert list(NanoGPT().sidecars(about)) == ["config.py"]
    (tmp_path / "meta.pkl").write_bytes(b"pickle")
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    assert NanoGPT().sidecars(about)["meta.pkl"] == b"pickle"


def test_the_settings_are_what_train_py_executes(tmp_path: Path) -> None:
    """``train.py`` executes the file in its own namespace: a name it does not know would be left out."""
    put(tmp_path, NanoGPT(), {"train": Documents([[5, 6], [7]])})
    settings: dict[str, object] = {}
    exec((tmp_path / "config.py").read_text(), settings)
    assert settings["dataset"] == "demo"


def test_an_unknown_side_is_refused() -> None:
    assert NanoGPT().eot == "append"
    with pytest.raises(ConfigError, match="'append', 'prepend' or 'none'"):
        NanoGPT.parse({"eot": "both"})
