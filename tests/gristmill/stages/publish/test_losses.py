"""What was lost, and what other thresholds would keep, held against the data set that is made."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from gristmill import config, pipeline
from gristmill.config import PrepareConfig
from gristmill.reporting.figures import decoded
from gristmill.storage import stores
from gristmill.types import Manifest

WORDS = ["river", "old", "house", "evening", "stone", "bridge", "walk", "the", "of", "and", "to", "be", "that", "with"]
RULES: list[dict[str, Any]] = [
    {"kind": "whitespace"},
    {"kind": "c4_lines"},
    {"kind": "length", "min_chars": 300, "max_chars": 3000},
    {"kind": "gopher_quality", "max_symbols_per_word": 0.05},
    {"kind": "gopher_repetition"},
    {"kind": "fineweb"},
]


def texts(count: int, seed: int) -> list[str]:
    """Some too short, some with hashes, some with repeated lines, some copies, some sentences that others have."""
    draw = random.Random(seed)
    found: list[str] = []
    shared = " ".join(f"Shared {word} sentence {number} of all." for number, word in enumerate(WORDS[:6]))
    for number in range(count):
        lines = [" ".join(draw.choices(WORDS, k=draw.randint(3, 16))) + draw.choice([".", "?", ""]) for _ in range(30)]
        text = "\n".join(lines[: draw.randint(2, 30)])
        text += "\n" + " ".join(["#word"] * draw.randint(0, 9)) + "." if draw.random() < 0.4 else ""
        text += f"\n{lines[0]}." * draw.randint(0, 3) + f"\n{shared}" * (draw.random() < 0.2)
        found.append(found[-1] if number % 9 == 8 else text + "   ")
    return found


def write(path: Path, documents: list[str], *, bad: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"text": text}) for text in documents] + ["{bad"] * bad + ["{}"] * bad
    path.write_text("".join(f"{line}\n" for line in lines))


def asked(folder: Path, name: str, **changes: Any) -> PrepareConfig:
    settings: dict[str, Any] = {
        "dataset": "lost",
        "sources": [
            {"name": "web", "kind": "files", "paths": [str(folder / "web")]},
            {"name": "books", "kind": "files", "paths": [str(folder / "books")], "genre": "book", "sample_rate": 0.7},
        ],
        "cleaning": RULES,
        "dedup": [{"kind": "exact"}, {"kind": "sentence", "sentences": 2, "min_bytes": 40}],
        "tokenizer": {"kind": "bytes"},
        "max_quarantined_share": 0.5,
        "formats": [{"kind": "nanogpt"}],
        "output": str(folder / name),
        "execution": {"work": str(folder / "work"), "workers": 1},
    }
    return config.parse(settings | changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("lost")
    write(found / "web" / "a.jsonl", texts(150, 1), bad=2)
    write(found / "web" / "b.jsonl", texts(90, 2))
    write(found / "books" / "a.jsonl", texts(60, 3))
    return found


@pytest.fixture(scope="module")
def made(folder: Path) -> Manifest:
    return pipeline.prepare(asked(folder, "out"))


def test_every_document_and_character_that_was_lost_is_in_the_table_once(folder: Path, made: Manifest) -> None:
    """A table that forgets what dedup or a rewriting rule took names the wrong rule as the worst."""
    counts: dict[str, int] = {}
    for loss in made.losses:
        counts[loss.reason] = counts.get(loss.reason, 0) + loss.documents
    reasons = made.dropped | made.quarantined
    assert {reason: count for reason, count in counts.items() if count} == reasons
    assert {"duplicate_exact", "not_sampled", "json_syntax", "missing_text", "too_short"} <= set(reasons)
    assert {"rewritten", "parts_removed"} <= set(counts)
    figures = decoded((folder / "out" / "report" / "figures.json").read_bytes())
    counted = sum(loss.characters for loss in made.losses if loss.counted)
    assert figures.characters["usable"] == figures.characters["published"] + counted


def test_tokens_are_estimated_by_what_was_measured_of_the_source(made: Manifest) -> None:
    """Bytes as tokens: one a character in these texts. A fixed factor would be off by four for other tokenizers."""
    assert all(loss.tokens == loss.characters for loss in made.losses)
    unread = {loss.reason: (loss.documents, loss.characters) for loss in made.losses if not loss.counted}
    assert unread["json_syntax"][1] > 100 < unread["not_sampled"][1] / unread["not_sampled"][0]
    assert {loss.reason: loss.characters for loss in made.losses}["missing_text"] == 0


def rows(folder: Path, name: str = "out") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / name / "report" / "thresholds.json").read_bytes())
    return found


def test_the_threshold_in_force_keeps_what_the_filter_kept(folder: Path, made: Manifest) -> None:
    kept = {(rule.source, rule.rule): (rule.documents_out, rule.characters_out) for rule in made.rules}
    in_force = [row for row in rows(folder) if row["in_force"]]
    assert len(in_force) == 2 * (2 + 10 + 4 + 9 + 4)
    for row in in_force:
        assert (row["documents_kept"], row["characters_kept"]) == kept[row["source"], row["rule"]], row


@pytest.mark.parametrize(
    ("reason", "place", "field"),
    [
        ("too_short", 2, "min_chars"),
        ("many_hashes", 3, "max_symbols_per_word"),
        ("duplicate_characters", 5, "max_duplicate_characters"),
    ],
)
def test_a_threshold_moved_on_paper_is_what_a_run_gives(
    folder: Path, made: Manifest, reason: str, place: int, field: str
) -> None:
    """A figure on paper that no run confirms is worse than none."""
    assert made.files
    one = [row for row in rows(folder) if (row["reason"], row["source"]) == (reason, "web")]
    kept = next(row["documents_kept"] for row in one if row["in_force"])
    other = next(row for row in one if row["documents_kept"] > kept)
    rules = [dict(rule) for rule in RULES]
    rules[place][field] = other["threshold"]
    again = pipeline.prepare(asked(folder, f"out-{reason}", cleaning=rules))
    (record,) = [rule for rule in again.rules if (rule.source, rule.rule) == ("web", rules[place]["kind"])]
    assert record.documents_out == other["documents_kept"]


def test_later_generations_add_up(tmp_path: Path) -> None:
    """A table of the last night alone would call a rule harmless that took most of the corpus before."""
    write(tmp_path / "web" / "a.jsonl", texts(60, 4))
    write(tmp_path / "books" / "a.jsonl", texts(30, 5))
    first = pipeline.prepare(asked(tmp_path, "out"))
    write(tmp_path / "web" / "b.jsonl", texts(60, 6))
    both = pipeline.prepare(asked(tmp_path, "out"))
    assert len(both.generations) == 2
    before = {(loss.source, loss.reason): loss.documents for loss in first.losses}
    after = {(loss.source, loss.reason): loss.documents for loss in both.losses}
    assert sum(after.values()) > sum(before.values())
    assert all(after[key] >= count for key, count in before.items())
    published = [entry.path for entry in both.attachments]
    assert {"report/ledger.json", "report/ledger-g00002.json", "report/thresholds-g00002.json"} <= set(published)
    kept = {(rule.source, rule.rule): rule.documents_out for rule in both.rules}
    data = json.loads(stores.at(str(tmp_path / "out")).read("report/thresholds-g00002.json"))
    assert all(row["documents_kept"] == kept[row["source"], row["rule"]] for row in data if row["in_force"])
