"""What a tokenizer is trained on, and what is said of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from corpora import request, small_corpus, write_documents

from gristmill import pipeline
from gristmill.errors import ConfigError
from gristmill.stages.tokens import _training

SOURCES = ("web", "notes")


def asked(folder: Path, **tokenizer: Any) -> dict[str, Any]:
    """Two sources: real text, and ten times less of another alphabet."""
    write_documents(folder / "web" / "a.jsonl", [text[:2000] for text in small_corpus(80)])
    write_documents(
        folder / "notes" / "a.jsonl", ["\u0430\u0431\u0432 \u0433\u0434\u0435 " * 20 + str(n) for n in range(60)]
    )
    sources = [{"kind": "files", "name": name, "paths": [str(folder / name)]} for name in SOURCES]
    return {"sources": sources, "tokenizer": {"kind": "train", "vocab_size": 600, **tokenizer}}


def report(folder: Path, **tokenizer: Any) -> dict[str, Any]:
    pipeline.prepare(request(folder, **asked(folder, **tokenizer)))
    found: dict[str, Any] = json.loads((folder / "out" / "report" / "tokenizer.json").read_text())
    return found


def test_the_report_says_what_the_vocabulary_does_by_source(tmp_path: Path) -> None:
    """Bytes a token decide how much text a budget of tokens buys; they differ by source."""
    found = report(tmp_path)
    assert found["vocab_size"] == 600
    assert found["sources"].keys() == set(SOURCES)
    for row in found["sources"].values():
        assert row["changed"] == row["unknown"] == 0
        assert row["bytes_per_token"] == round(row["bytes"] / row["tokens"], 4)
    assert found["sources"]["notes"]["documents"] == 60
    assert found["sources"]["notes"]["bytes_per_token"] > found["sources"]["web"]["bytes_per_token"] > 1
    assert found["warnings"] == []
    assert "report/tokenizer.json" in {
        file["path"] for file in json.loads((tmp_path / "out" / "manifest.json").read_text())["attachments"]
    }


def test_the_report_says_what_the_vocabulary_does_by_language(tmp_path: Path) -> None:
    """A tokenizer that is good on the whole may take three times as many tokens for one language: its readers pay."""
    english = "The river runs slowly past the old houses, and in the evening the children come down to swim. "
    german = "Der Fluss zieht langsam an den alten H\u00e4usern vorbei, und am Abend baden die Kinder darin. "
    write_documents(tmp_path / "web" / "a.jsonl", [english * 3 + str(number) for number in range(50)])
    write_documents(tmp_path / "notes" / "a.jsonl", [german * 2, english * 2])
    sources = [{"kind": "files", "name": name, "paths": [str(tmp_path / name)]} for name in SOURCES]
    pipeline.prepare(request(tmp_path, sources=sources, tokenizer={"kind": "train", "vocab_size": 300}))
    found = json.loads((tmp_path / "out" / "report" / "tokenizer.json").read_text())
    assert {code: row["documents"] for code, row in found["languages"].items()} == {"de": 1, "en": 51}
    for what in ("documents", "characters", "bytes", "tokens"):
        wanted = sum(row[what] for row in found["sources"].values())
        assert sum(row[what] for row in found["languages"].values()) == wanted
    assert found["languages"]["en"]["bytes_per_token"] > found["languages"]["de"]["bytes_per_token"] > 1


def test_languages_are_asked_for_a_few_documents_of_each_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source of short documents has a hundred thousand of them in the characters that are measured."""
    monkeypatch.setattr(_training, "IDENTIFIED", 7)
    found = report(tmp_path)
    assert sum(row["documents"] for row in found["languages"].values()) == 2 * 7
    assert found["sources"]["notes"]["documents"] == 60


def test_a_source_without_weight_is_not_trained_on(tmp_path: Path) -> None:
    with_notes = report(tmp_path / "a", weights={"web": 1, "notes": 1})
    without = report(tmp_path / "b", weights={"web": 1, "notes": 0})
    assert without["sources"].keys() == {"web"}
    assert with_notes["sources"]["notes"]["bytes_per_token"] > 4


def test_a_sample_of_a_tenth_is_the_same_every_time_and_another_with_another_seed(tmp_path: Path) -> None:
    sizes = []
    for name, settings in (("a", {}), ("b", {}), ("c", {"seed": 1})):
        found = report(tmp_path / name, sample_characters=16_000, **settings)
        sizes.append((found["sha256"], found["sources"]["web"]["characters"]))
    assert sizes[0] == sizes[1] != sizes[2]
    assert 2_000 < sizes[0][1] < 50_000


def test_too_much_unknown_refuses_the_tokenizer(tmp_path: Path) -> None:
    """More than 1 % of unknown ids is text that no model can learn."""
    with pytest.raises(ConfigError, match=r"\d\.\d\d% of the ids of source web are unknown, more than 1%; raise"):
        report(tmp_path, algorithm="wordpiece", vocab_size=257)


def test_half_a_percent_unknown_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_training, "MOST_UNKNOWN", 1.0)
    found = report(tmp_path, algorithm="wordpiece", vocab_size=257)
    assert found["sources"]["web"]["unknown_share"] > 0.005
    assert any("of the ids of source web are unknown" in warning for warning in found["warnings"])
