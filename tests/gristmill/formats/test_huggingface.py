"""A folder for ``datasets``."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from streams import Documents, put, record

from gristmill.formats.huggingface import HuggingFace

DOCUMENTS = [[1, 2, 3], [4], [5, 6]]


def test_load_dataset_opens_the_folder(tmp_path: Path) -> None:
    """Splits are found by the files' names, one document a row; other files in the folder are no data."""
    streams = {"train": Documents(DOCUMENTS), "val": Documents([[9]])}
    put(tmp_path / "set", HuggingFace(max_tokens=6), streams)
    found = load_dataset(str(tmp_path / "set"), cache_dir=str(tmp_path / "cache"))
    assert found["train"]["input_ids"][:] == [[1, 2, 3, 0], [4, 0], [5, 6, 0]]
    assert found["validation"]["input_ids"][:] == [[9, 0]]


@pytest.mark.parametrize(("vocab_size", "kind"), [(65536, pa.uint16()), (65537, pa.int32())])
def test_the_type_holds_every_id(tmp_path: Path, vocab_size: int, kind: pa.DataType) -> None:
    put(tmp_path, HuggingFace(), {"train": Documents(DOCUMENTS)}, record(vocab_size=vocab_size))
    assert pq.read_schema(tmp_path / "data" / "train-00000.parquet").field("input_ids").type.value_type == kind


def test_the_card_says_what_the_ids_are(tmp_path: Path) -> None:
    """The files alone do not say which tokenizer made them."""
    put(tmp_path, HuggingFace(), {"train": Documents(DOCUMENTS)})
    card = (tmp_path / "README.md").read_text()
    assert "gpt2" in card
    assert "ab" * 32 in card
    assert "`input_ids` (uint16)" in card
