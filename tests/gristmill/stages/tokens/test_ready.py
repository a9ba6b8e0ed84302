"""What a worker has loaded before the first document comes."""

import sys
from pathlib import Path

import pytest
from corpora import request, write_documents

from gristmill import pipeline
from gristmill.errors import ConfigError
from gristmill.phases.dedup import drop_duplicates
from gristmill.phases.ingest import ingest
from gristmill.processes import pool
from gristmill.runners.in_process import IN_PROCESS
from gristmill.stages.dedup.recall import published_encoder
from gristmill.stages.ingest.plan import plan
from gristmill.stages.tokens import tokenizer
from gristmill.stages.tokens.ready import ready
from gristmill.tokenizers import _loaded


def test_the_tokenizer_that_was_checked_is_the_one_that_encodes_and_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loaded once more, GPT-2's takes half a second in every worker while all documents wait, and in the command
    before it says what it made."""
    write_documents(tmp_path / "in" / "a.jsonl", ["one text", "another"])
    config = request(tmp_path)
    loads: list[Path] = []
    kind = type(config.tokenizer)
    load = kind.load
    monkeypatch.setattr(kind, "load", lambda self, folder: loads.append(folder) or load(self, folder))
    monkeypatch.setattr(_loaded, "_loaded", {})
    ready(config)
    assert len(loads) == 1
    done = drop_duplicates(ingest(plan(config), config, IN_PROCESS), config, IN_PROCESS)
    report = tokenizer.vocabulary(1, done.pieces, done.settled, config)
    assert tokenizer.encoder(report, config).encode(["one text"]).ids.size == 8
    assert "gristmill.stages.output.upload" in sys.modules
    manifest = pipeline.prepare(config)
    assert published_encoder(config.destination, manifest).encode(["one text"]).ids.size == 8
    assert len(loads) == 1


def test_other_settings_are_another_tokenizer(tmp_path: Path) -> None:
    """The encoder of the run before would end documents with its own token."""
    write_documents(tmp_path / "in" / "a.jsonl", ["one text"])
    config = request(tmp_path)
    ready(config)
    path = config.tokenizer.settings()["path"]
    odd = request(tmp_path, tokenizer={"kind": "huggingface", "path": path, "eot": "no such token"})
    with pytest.raises(ConfigError, match="no such token"):
        ready(odd)


def test_a_tokenizer_that_no_worker_can_load_is_the_user_s_to_change(tmp_path: Path) -> None:
    """An error from a worker process must name the file, not show a traceback."""
    write_documents(tmp_path / "in" / "a.jsonl", ["one text"])
    config = request(tmp_path, tokenizer={"kind": "huggingface", "path": str(tmp_path / "none.json")})
    with pytest.raises(ConfigError, match=r"none\.json"):
        pool.everywhere(ready, children=2, config=config)
    pool.close()
