"""Several jobs on one work area: nothing of one may end up in another."""

from pathlib import Path

import pytest
from corpora import published, request, write_documents
from tokenizers import Tokenizer, models, pre_tokenizers

from gristmill import pipeline
from gristmill.errors import ConfigError, InputError
from gristmill.inspection.verify import verify


def job(folder: Path, name: str, texts: list[str], **settings: object) -> list[str]:
    """The documents that a job of its own input and output publishes, all jobs on the same work area."""
    write_documents(folder / "in" / name / "a.jsonl", texts)
    config = request(
        folder,
        sources=[{"kind": "files", "paths": [str(folder / "in" / name)]}],
        output=str(folder / name),
        execution={"work": str(folder / "work")},
        **settings,
    )
    pipeline.prepare(config)
    return published(config)


@pytest.mark.parametrize("dedup", [[], [{"kind": "exact"}]])
def test_corpora_of_as_many_pieces_do_not_share_a_verdict(tmp_path: Path, dedup: list[dict[str, str]]) -> None:
    """Without dedup there is nothing to find, and a verdict known by what was found was the same for every corpus."""
    settings = {"dedup": dedup, "ordering": {"kind": "input"}, "split": {"kind": "none"}}
    first, second = ["one", "two", "three"], ["four", "five", "six", "seven"]
    assert job(tmp_path, "first", first, **settings) == first
    assert job(tmp_path, "second", second, **settings) == second


def test_a_finished_data_set_is_left_as_it_is(tmp_path: Path) -> None:
    """A rerun over changed input that fails must not leave its mark on what is published."""
    texts = [f"document number {number}" for number in range(30)]
    dedup = [{"kind": "exact"}]
    job(tmp_path, "set", texts, max_quarantined_share=1.0, dedup=dedup)
    before = {path: path.read_bytes() for path in (tmp_path / "set").rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="cannot be used"):
        job(tmp_path, "set", [*texts, "document number 3", "\ud800"], max_quarantined_share=0.0, dedup=dedup)
    assert {path: path.read_bytes() for path in (tmp_path / "set").rglob("*") if path.is_file()} == before
    assert verify(str(tmp_path / "set")).problems == []


def test_what_a_run_writes_is_never_its_input(tmp_path: Path) -> None:
    """With the output inside the input folder the second run would read the manifest as text."""
    write_documents(tmp_path / "in" / "a.jsonl", ["one", "two"])
    write_documents(tmp_path / "in" / "out" / "b.jsonl", ["three"])
    with pytest.raises(ConfigError, match="where this run writes"):
        pipeline.prepare(request(tmp_path, output=str(tmp_path / "in" / "out")))


def test_a_character_that_the_tokenizer_would_lose_stops_the_run(tmp_path: Path) -> None:
    """BPE without an unknown token and without bytes gives no id for what it does not know, and says nothing."""
    vocabulary = {"a": 0, "b": 1, "<|endoftext|>": 2}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "small.json"))
    settings = {"tokenizer": {"kind": "huggingface", "path": str(tmp_path / "small.json")}}
    write_documents(tmp_path / "in" / "a.jsonl", ["a b ab"])
    pipeline.prepare(request(tmp_path, output=str(tmp_path / "known"), **settings))
    write_documents(tmp_path / "in" / "a.jsonl", ["a b ab \u4e2d"])
    with pytest.raises(InputError, match=r"no id for '\\u4e2d'"):
        pipeline.prepare(request(tmp_path, output=str(tmp_path / "unknown"), **settings))
