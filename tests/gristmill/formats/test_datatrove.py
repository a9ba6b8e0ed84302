"""datatrove's three files."""

from pathlib import Path

import numpy as np
import pytest
from streams import Documents, put, record

from gristmill.formats import datatrove
from gristmill.formats.datatrove import Datatrove


def test_the_index_holds_ends_that_grow(tmp_path: Path) -> None:
    """No leading 0, no count; the same end twice stops the reader from telling documents apart."""
    put(tmp_path, Datatrove(max_tokens=6), {"train": Documents([[1, 2, 3], [4], [5, 6]])})
    assert np.fromfile(tmp_path / "train" / "00000.ds", "<u2").tolist() == [1, 2, 3, 0, 4, 0]
    assert np.fromfile(tmp_path / "train" / "00000.ds.index", "<u8").tolist() == [4, 6]
    assert np.fromfile(tmp_path / "train" / "00001.ds.index", "<u8").tolist() == [3]


@pytest.mark.parametrize(("vocab_size", "size"), [(65536, 2), (65537, 4)])
def test_the_metadata_says_tokenizer_and_width(tmp_path: Path, vocab_size: int, size: int) -> None:
    """nanotron takes the width of an id from here, and loads the tokenizer by this name."""
    put(tmp_path, Datatrove(tokenizer="org/mine"), {"val": Documents([[1, 2]])}, record(vocab_size=vocab_size))
    assert (tmp_path / "val" / "00000.ds.metadata").read_text() == f"org/mine|{size}\n3\n3.00 T"
    assert (tmp_path / "val" / "00000.ds").stat().st_size == 3 * size


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1.00 T"), (99, "99.0 T"), (1000, "1.00 kT"), (107_123, "107 kT"), (10**9, "1.00 GT"), (2**40, "1.10 TT")],
)
def test_counts_are_written_as_humanize_writes_them(count: int, text: str) -> None:
    assert datatrove._metric(count) == text
