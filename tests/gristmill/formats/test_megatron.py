"""Megatron's pair of files."""

import struct
from pathlib import Path

import numpy as np
import pytest
from streams import Documents, packed, put, record

from gristmill.errors import InputError
from gristmill.formats import megatron
from gristmill.formats.base import OutputFile
from gristmill.formats.megatron import Megatron

DOCUMENTS = [[1, 2, 3], [4], [5, 6]]


@pytest.mark.parametrize(("vocab_size", "code", "dtype"), [(65499, 8, "<u2"), (65500, 4, "<i4"), (70000, 4, "<i4")])
def test_the_bytes_are_those_of_megatron(tmp_path: Path, vocab_size: int, code: int, dtype: str) -> None:
    """Its own rule for the type turns at 65,500; a code that does not fit the ids is read without an error."""
    put(tmp_path, Megatron(), {"train": Documents(DOCUMENTS)}, record(vocab_size=vocab_size))
    ids = np.fromfile(tmp_path / "train_text_document.bin", dtype)
    assert ids.tolist() == [1, 2, 3, 0, 4, 0, 5, 6, 0]
    size = np.dtype(dtype).itemsize
    wanted = b"MMIDIDX\0\0" + struct.pack("<QBQQ3i3q4q", 1, code, 3, 4, 4, 2, 3, 0, 4 * size, 6 * size, 0, 1, 2, 3)
    assert (tmp_path / "train_text_document.idx").read_bytes() == wanted
    assert len(wanted) == 34 + 20 * 3 + 8


def test_a_document_longer_than_its_reader_can_count_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lengths are int32: a longer one would be negative."""
    monkeypatch.setattr(megatron, "LONGEST", 3)
    file = OutputFile(path="train_text_document.bin", split="train", start=0, stop=9)
    made = packed(tmp_path, Megatron(), file, Documents(DOCUMENTS))
    with pytest.raises(InputError, match=r"a document has 4 ids, and its \.idx holds lengths up to 3"):
        list(Megatron().companions(made)["train_text_document.idx"])


def test_the_arguments_name_prefixes_and_weights(tmp_path: Path) -> None:
    """With ``.bin`` at its end a prefix is no file that Megatron knows."""
    put(tmp_path, Megatron(), {"train": Documents(DOCUMENTS)}, record(vocab_size=257, eot_id=256))
    lines = (tmp_path / "arguments.txt").read_text().splitlines()
    assert f'--train-data-path 1.000000 "{tmp_path}/train_text_document"' in lines
    assert "--vocab-size 256" in lines
    assert not [line for line in lines if "valid" in line]
