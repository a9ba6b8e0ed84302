"""The recipes in our own lines do the work of those they stand for: every document, every id, one end each."""

import sys
from pathlib import Path

import numpy as np
import pytest
from _programs import PROGRAMS, counts, run
from _watch import Failed
from corpora import EOT, byte_tokenizer, small_corpus, write_documents

BY_NAME = {program.name: program for program in PROGRAMS}


@pytest.mark.parametrize("name", ["nanogpt", "olmo", "floor"])
def test_a_recipe_writes_every_document_and_one_end_each(name: str, tmp_path: Path) -> None:
    """A peer that loses documents, or whose ends are dropped, makes its speed look like ours or better."""
    texts = [" ", "\n two lines\n", *small_corpus(20)]
    for number in range(2):
        write_documents(tmp_path / "in" / f"part-{number}.jsonl.gz", texts[number::2])
    folder = tmp_path / "out"
    folder.mkdir()
    tokenizer = str(byte_tokenizer(tmp_path / "tokenizer.json"))
    found = run(BY_NAME[name], sys.executable, tmp_path / "in", tokenizer, 2, folder, EOT, 60)
    assert found.documents == len(texts)
    assert found.tokens == sum(len(text.encode()) for text in texts) + len(texts)
    assert 0 < found.seconds <= found.wall
    assert found.cpu > 0


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    """A row "not measured" without a reason cannot be checked by anybody."""
    folder = tmp_path / "out"
    folder.mkdir()
    write_documents(tmp_path / "in" / "part.jsonl.gz", ["text"])
    with pytest.raises(Failed, match=r"olmo.py ended with status 1: .*No such file"):
        run(BY_NAME["olmo"], sys.executable, tmp_path / "in", "missing.json", 1, folder, EOT, 60)


def test_ids_and_ends_are_counted_in_the_files(tmp_path: Path) -> None:
    for name, ids in {"a.bin": [1, 2, EOT], "b.bin": [EOT], "empty.bin": [], "c.idx": [EOT]}.items():
        np.array(ids, np.uint16).tofile(tmp_path / name)
    assert counts(tmp_path, "*.bin", EOT) == (2, 4)
    with pytest.raises(ValueError, match=r"no files of ids match \*\.npy"):
        counts(tmp_path, "*.npy", EOT)
