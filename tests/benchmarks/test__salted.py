"""A corpus of ten salted copies must not be one that dedup cuts to a tenth."""

from pathlib import Path

import _corpus
import pyarrow as pa
import pytest
from _salted import make, salted
from corpora import small_corpus, write_documents

from gristmill.dedup._shingles import shingles

WORDS = "one two three four five six seven eight nine ten eleven twelve"
HAN = "\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341\u767e\u5343"


@pytest.mark.parametrize("text", [WORDS, HAN, *small_corpus(12)])
def test_copies_have_no_shingle_in_common(text: str) -> None:
    hashes, offsets = shingles(pa.array([salted(text, copy) for copy in range(3)]))
    first, second, third = (set(hashes[offsets[n] : offsets[n + 1]].tolist()) for n in range(3))
    assert first
    assert not first & second
    assert not second & third


def test_copies_within_the_corpus_stay_copies() -> None:
    """Otherwise the larger corpus has less to do than the single one."""
    hashes, offsets = shingles(pa.array([salted(text, 2) for text in (WORDS, f"{WORDS} thirteen")]))
    short, long = (set(hashes[offsets[n] : offsets[n + 1]].tolist()) for n in range(2))
    assert short < long


def test_every_file_is_there_as_often_as_asked(tmp_path: Path) -> None:
    write_documents(tmp_path / "in" / "part-0.jsonl.gz", [WORDS, HAN])
    write_documents(tmp_path / "in" / "part-1.jsonl.gz", [WORDS])
    one = _corpus.counted(make(tmp_path / "in", tmp_path / "once", 1, 1))
    three = _corpus.counted(make(tmp_path / "in", tmp_path / "many", 3, 1))
    assert (one.files, one.documents) == (2, 3)
    assert (three.files, three.documents, three.text_bytes) == (6, 9, 3 * one.text_bytes)
