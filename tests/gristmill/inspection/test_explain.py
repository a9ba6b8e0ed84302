"""The way of single documents, whatever became of them, and the command that shows it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from copied import EXACT, MINHASH, changed, ledger, page, web, write_ids
from corpora import published, request

from gristmill import pipeline
from gristmill.commands.trace import main
from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.inspection.explain import Trace, trace

QUESTION = " ".join(f"q{number}" for number in range(13))
RULES: list[dict[str, Any]] = [
    {"kind": "whitespace"},
    {"kind": "length", "min_chars": 3},
    {"kind": "length", "min_chars": 10},
]
MARKED = "[red]a[/red] :smile: \\[x]"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> PrepareConfig:
    """A document for each thing that can become of one."""
    folder = tmp_path_factory.mktemp("made")
    questions = folder / "questions.txt"
    questions.write_text(f"another\n{QUESTION}\n")
    (folder / "reported.txt").write_text(QUESTION.replace("q", "r"))
    notice = "the same paragraph in many of the documents"
    write_ids(
        folder / "in" / "0.jsonl",
        {
            "kept": page(1),
            "short": "  tiny  ",
            "spaces": "a   text   with   spaces",
            MARKED: "an id with marks in it",
            "notice": f"{notice}\n\n{page(5)}",
            "twice": "first of its id",
            "reported": f"tells {QUESTION.replace('q', 'r')}",
        },
    )
    path = write_ids(
        folder / "in" / "1.jsonl",
        {
            "equal": f"{page(1)} ",
            "near": changed(page(1), 7),
            "bad": f"asks {QUESTION}",
            "cut": f"{notice}\n\n{page(6)}",
            "left": f"top\n\n{notice}",
            "blank": "\u200b \u3000",
            "twice": "second of its id",
        },
    )
    with path.open("a") as file:
        file.write('{"id": "number", "text": 5}\n{"id": "broken", "text": "cut\n')
    (folder / "in" / "2.parquet").write_bytes(b"no parquet")
    config = request(
        folder,
        sources=web(folder),
        cleaning=RULES,
        dedup=[
            EXACT,
            MINHASH,
            {"kind": "decontaminate", "paths": [str(questions)]},
            {"kind": "decontaminate", "paths": [str(folder / "reported.txt")], "action": "report"},
            {"kind": "paragraph", "min_bytes": 20, "min_left": 20},
        ],
        max_quarantined_share=0.5,
        on_bad_file="quarantine",
    )
    pipeline.prepare(config)
    return config


def only(config: PrepareConfig, document: str) -> Trace:
    (found,) = trace(config.destination, document)
    assert found.id == document
    return found


def shown(config: PrepareConfig, document: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([config.destination, document]) == 0
    return capsys.readouterr().out


def test_a_published_document(made: PrepareConfig) -> None:
    found = only(made, "kept")
    assert (found.fate, found.text, found.kept_id, found.notes) == ("published", page(1), "", [])
    assert (found.source, Path(found.input).name) == ("web", "0.jsonl")
    assert [(step.rule, step.reason) for step in found.steps] == [("whitespace", ""), ("length", ""), ("length", "")]


def test_what_a_rule_changed_is_told_in_characters(made: PrepareConfig) -> None:
    found = only(made, "spaces")
    assert (found.steps[0].characters_before, found.steps[0].characters_after) == (24, 18)
    assert found.text == "a text with spaces"
    assert found.text in published(made)


def test_a_document_that_a_filter_dropped(made: PrepareConfig, capsys: pytest.CaptureFixture[str]) -> None:
    """The rule and its reason, and no rule after it."""
    found = only(made, "short")
    assert found.fate == "too_short"
    assert [(step.rule, step.reason) for step in found.steps] == [
        ("whitespace", ""),
        ("length", ""),
        ("length", "too_short"),
    ]
    assert re.search(r"length .*too_short", shown(made, "short", capsys))


@pytest.mark.parametrize(("name", "kind"), [("equal", "exact"), ("near", "minhash")])
def test_a_copy_is_held_against_the_document_that_stayed(
    made: PrepareConfig, name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever doubts the threshold has to see both texts."""
    found = only(made, name)
    assert (found.fate, found.kept_id, found.kept_text) == (f"duplicate_{kind}", "kept", page(1))
    output = shown(made, name, capsys)
    assert "it repeats kept" in output
    if name == "equal":
        assert output.endswith("\nthe same text\n")
    else:
        assert re.search(r"similarity 0\.9\d\d; minhash: a copy from 0\.8 on", output)
        assert re.search(r"w1x\d+ \[-w1x\d+-\]\{\+changed7\+\} w1x\d+", output)
    assert main([made.destination, name, "--all"]) == 0
    assert re.search(r"kept document .*this document", capsys.readouterr().out)


def test_near_copies_are_listed_with_similarity_and_excerpts(made: PrepareConfig) -> None:
    """Whoever chooses a threshold looks at the pairs nearest to it, without reading the input again."""
    rows = {row["id"]: row for row in ledger(made)}
    near = rows["near"]
    assert 0.85 < near["similarity"] < 1
    assert (near["excerpt"], near["kept_excerpt"]) == (changed(page(1), 7)[:120], page(1)[:120])
    for name in ("equal", "bad", "cut", "left"):
        assert [rows[name][column] for column in ("similarity", "excerpt", "kept_excerpt")] == [None] * 3
    shown_page = (Path(made.destination) / "report" / "index.html").read_text()
    assert "Near copies" in shown_page
    assert f"{near['similarity']:.3f}" in shown_page


def test_what_a_filter_measured_is_shown_with_its_threshold(
    made: PrepareConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reason without a figure does not say whether the threshold was missed by a character or by a page."""
    assert only(made, "short").steps[2].measured == {"too_short": "5, least 10"}
    assert re.search(r"length .*too_short.*5, least 10", shown(made, "short", capsys))
    assert "least" not in shown(made, "kept", capsys)
    assert main([made.destination, "kept", "--all"]) == 0
    assert re.search(r"too_short: \d+, least 10", capsys.readouterr().out)


def test_a_long_document_takes_a_screen_at_most(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A text of megabytes ran through the terminal; asked for, all of it is there."""
    texts = {"short lines": "a\n" * 500, "long line": "word " * 5000, "page": page(1, 4000)}
    texts["copy"] = " ".join(word if n % 60 else f"new{n}" for n, word in enumerate(texts["page"].split(" ")))
    write_ids(tmp_path / "in" / "a.jsonl", texts)
    config = request(tmp_path, sources=web(tmp_path), dedup=[MINHASH])
    pipeline.prepare(config)
    assert only(config, "copy").fate == "duplicate_minhash"
    for name in texts:
        output = shown(config, name, capsys)
        assert sum(len(line) // 80 + 1 for line in output.splitlines()) <= 24
        assert re.search(r" \.\.\. \([\d,]+ more characters: --all\)$", output)
        assert main([config.destination, name, "--all"]) == 0
        every = re.sub(r"\s+", "", capsys.readouterr().out)
        assert "more characters" not in every
        if name != "copy":
            assert re.sub(r"\s+", "", texts[name]) in every


def test_a_contaminated_document_is_shown_beside_the_question(made: PrepareConfig) -> None:
    found = only(made, "bad")
    assert (found.fate, found.kept_text) == ("contaminated", QUESTION)
    assert found.kept_id.endswith("questions.txt:2")
    found = only(made, "reported")
    assert (found.fate, found.kept_id) == ("published", "")
    (note,) = found.notes
    assert re.fullmatch(r"shares a run of words with an evaluation text: .*reported\.txt:1", note)


def test_documents_that_lost_paragraphs(made: PrepareConfig, capsys: pytest.CaptureFixture[str]) -> None:
    """Shown as published with its whole text, one would look for the paragraph in vain."""
    assert only(made, "notice").notes == []
    found = only(made, "cut")
    assert (found.fate, found.notes) == (
        "published",
        ["published without those of its parts that stand in earlier places"],
    )
    assert found.notes[0] in shown(made, "cut", capsys)
    assert only(made, "left").fate == "little_left"


def test_a_blank_document(tmp_path: Path) -> None:
    """No rule of the configuration drops it, and still it is not there."""
    write_ids(tmp_path / "in" / "a.jsonl", {"a": "text", "b": " \u3000 "})
    config = request(tmp_path, sources=web(tmp_path))
    pipeline.prepare(config)
    found = only(config, "b")
    assert found.fate == "blank"
    assert [step.rule for step in found.steps] == ["blank"]


@pytest.mark.parametrize(("name", "reason"), [("number", "non_string_text"), ("broken", "json_syntax")])
def test_a_quarantined_document(
    made: PrepareConfig, name: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is in the input, so "no such document" would be a lie; file and line lead to it."""
    found = only(made, name)
    assert found.fate == f"quarantined: {reason}"
    assert re.fullmatch(r".*1\.jsonl: line [89]", found.input)
    assert f'"{name}"' in found.text
    assert reason in shown(made, name, capsys)


def test_a_quarantined_document_without_an_id_key(tmp_path: Path) -> None:
    """Its id is made of file and line, as that of its neighbours is."""
    path = tmp_path / "in" / "a.jsonl"
    path.parent.mkdir()
    path.write_text('{"text": "good"}\n{"text": 5}\n')
    config = request(tmp_path, max_quarantined_share=1.0)
    pipeline.prepare(config)
    assert only(config, "a.jsonl:1").fate == "published"
    assert only(config, "a.jsonl:2").fate == "quarantined: non_string_text"


def test_a_document_that_is_not_sampled(tmp_path: Path) -> None:
    texts = {f"d{number}": f"text {number}" for number in range(20)}
    write_ids(tmp_path / "in" / "a.jsonl", texts)
    config = request(tmp_path, sources=web(tmp_path, sample_rate=0.5))
    pipeline.prepare(config)
    fates = {name: only(config, name).fate for name in texts}
    there = set(published(config))
    assert fates == {name: "published" if text in there else "not_sampled" for name, text in texts.items()}
    assert 4 < len(there) < 16


def test_a_document_behind_a_limit(tmp_path: Path) -> None:
    for number in range(3):
        write_ids(tmp_path / "in" / f"{number}.jsonl", {f"{number}-{n}": f"text {number} {n}" for n in range(3)})
    config = request(tmp_path, sources=web(tmp_path, limit_documents=2))
    pipeline.prepare(config)
    fates = {f"{number}-{n}": only(config, f"{number}-{n}").fate for number in range(3) for n in range(3)}
    assert [name for name, fate in fates.items() if fate == "published"] == ["0-0", "2-0"]
    assert set(fates.values()) == {"published", "not_sampled"}


def test_an_unknown_id(made: PrepareConfig, capsys: pytest.CaptureFixture[str]) -> None:
    """And the files that could not be read are named: it may be in one of them."""
    with pytest.raises(
        InputError, match=r"'absent': no document with this id in the 2 input shards; 1 more .*2\.parquet"
    ):
        trace(made.destination, "absent")
    assert main([made.destination, "absent"]) == 2
    assert "error: 'absent'" in capsys.readouterr().err
    assert main([str(Path(made.destination).parent), "absent"]) == 2


def test_an_id_with_marks_is_printed_as_it_is(made: PrepareConfig, capsys: pytest.CaptureFixture[str]) -> None:
    """Brackets mean colours to the terminal library: an id must not lose them, nor stop the command."""
    output = shown(made, MARKED, capsys)
    assert output.splitlines()[0] == MARKED
    assert "an id with marks in it" in output


def test_a_long_id_and_text_with_marks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that is broken in the middle of an id cannot be searched for."""
    name, text = "x/" * 200, "[bold]text[/] [/unbalanced] " + "y" * 5000
    write_ids(tmp_path / "in" / "a.jsonl", {name: text})
    config = request(tmp_path, sources=web(tmp_path))
    pipeline.prepare(config)
    lines = shown(config, name, capsys).splitlines()
    assert lines[0] == name
    assert lines[1] == f"of web, {tmp_path / 'in' / 'a.jsonl'}: published"
    assert any("[/unbalanced]" in line for line in lines)


def test_every_document_of_an_id(made: PrepareConfig, tmp_path: Path) -> None:
    """Ids need not be unique. Where some of a shard went as copies and some stayed, no guess is made."""
    assert [found.text for found in trace(made.destination, "twice")] == ["first of its id", "second of its id"]
    rows = [("a", "one"), ("b", "one"), ("b", "two"), ("c", "one"), ("c", "two")]
    path = tmp_path / "in" / "a.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in rows))
    config = request(tmp_path, sources=web(tmp_path), dedup=[EXACT])
    pipeline.prepare(config)
    found = trace(config.destination, "b")
    assert [one.fate for one in found] == ["published, or duplicate_exact"] * 2
    assert found[0].notes == ["2 documents of this shard have the id, and 1 of them went"]
    assert [(one.fate, one.kept_id) for one in trace(config.destination, "c")] == [
        ("duplicate_exact", "a"),
        ("duplicate_exact", "b"),
    ]


def test_a_copy_of_earlier_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The document that it repeats is in no input: its text comes from the tokens of the other data set."""
    write_ids(tmp_path / "old" / "in" / "a.jsonl", {"o": "other", "a": page(1)})
    old = request(tmp_path / "old", sources=web(tmp_path / "old"))
    pipeline.prepare(old)
    write_ids(tmp_path / "new" / "in" / "a.jsonl", {"x": changed(page(1), 0), "y": "new"})
    config = request(tmp_path / "new", sources=web(tmp_path / "new"), dedup=[MINHASH], against=[old.destination])
    pipeline.prepare(config)
    found = only(config, "x")
    assert (found.fate, found.kept_text) == ("duplicate_minhash", page(1))
    assert found.kept_id == f"{old.destination}/nanogpt/train.bin#1"
    assert f"it repeats {found.kept_id}" in shown(config, "x", capsys)
