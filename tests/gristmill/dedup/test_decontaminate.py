"""Documents that share a run of words with evaluation texts, against sets of runs in plain Python."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import documents

from gristmill.config import parse
from gristmill.dedup.decontaminate import Decontaminate
from gristmill.errors import ConfigError, InputError
from gristmill.plugins import load

WORDS = st.lists(st.sampled_from(["a", "B", "b", "c1", "d\u00e9", ".", ", ", "\n", "\u4e2d"]), max_size=12).map(
    " ".join
)
QUESTION = "what is the name of the river that runs through the middle of the town"


def screen(paths: list[Path], **settings: Any) -> Decontaminate:
    found = load("dedup", {"kind": "decontaminate", "paths": [str(path) for path in paths], **settings})
    assert isinstance(found, Decontaminate)
    return found


def runs(text: str, ngram: int) -> list[str]:
    words = re.findall("[a-z0-9\u00e9\u4e2d]+", text.lower())
    return [" ".join(words[place : place + ngram]) for place in range(len(words) - ngram + 1)]


def found_in(kind: Decontaminate, batch: pa.RecordBatch) -> list[tuple[int, str]]:
    return [(match.row, match.match) for match in kind.matches(batch)]


@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, max_size=8), st.integers(1, 4), st.integers(0, 3))
def test_matches_are_those_of_sets_of_runs(
    tmp_path_factory: pytest.TempPathFactory, evaluation: list[str], texts: list[str], ngram: int, first: int
) -> None:
    """A contaminated document that is not seen makes an evaluation lie; one seen by mistake is lost training data."""
    path = tmp_path_factory.mktemp("evaluation") / "questions.jsonl"
    path.write_text("".join(json.dumps({"q": text}) + "\n" for text in evaluation))
    known: dict[str, int] = {}
    for number, text in enumerate(evaluation, 1):
        for run in runs(text, ngram):
            known.setdefault(run, number)
    kind = screen([path], ngram=ngram)
    batch = documents(texts).slice(min(first, len(texts)))
    if not known:
        with pytest.raises(InputError, match=f"no text of {ngram} words or more"):
            kind.matches(batch)
        return
    wanted = []
    for row, text in enumerate(texts[first:]):
        shared = [known[run] for run in runs(text, ngram) if run in known]
        if shared:
            wanted.append((row, f"{path}:{shared[0]}"))
    assert found_in(kind, batch) == wanted


def test_the_match_names_file_and_line(tmp_path: Path) -> None:
    """Whoever reads the report must find the question that is in the corpus, in nested jsonl and in plain text."""
    nested = tmp_path / "tasks.jsonl"
    nested.write_text(
        json.dumps({"id": 1, "question": "short"})
        + "\n\n"
        + json.dumps({"turns": [{"role": "user", "text": QUESTION}]})
        + "\n"
    )
    plain = tmp_path / "lines.txt"
    plain.write_text(f"first line\n{QUESTION.replace('river', 'road')}\n")
    kind = screen([nested, plain])
    texts = [f"He asked: {QUESTION.upper()}?", "nothing", QUESTION.replace("river", "road"), QUESTION[20:]]
    assert found_in(kind, documents(texts)) == [(0, f"{nested}:3"), (2, f"{plain}:2")]


def test_a_run_shorter_than_asked_for_is_no_match(tmp_path: Path) -> None:
    """Twelve words of a common phrase must not drop a page where thirteen were asked for."""
    path = tmp_path / "a.txt"
    path.write_text(QUESTION)
    words = QUESTION.split()
    texts = [" ".join(words[:12]), " ".join(words[:13]), " ".join(words[:12]) + " other " + " ".join(words[3:])]
    assert [row for row, _ in found_in(screen([path]), documents(texts))] == [1]
    assert [row for row, _ in found_in(screen([path], ngram=12), documents(texts))] == [0, 1, 2]


def test_a_run_does_not_cross_two_documents_or_two_questions(tmp_path: Path) -> None:
    """Neighbours in a batch, or in the evaluation file, have nothing to do with each other."""
    words = QUESTION.split()
    path = tmp_path / "a.txt"
    path.write_text(QUESTION)
    assert found_in(screen([path]), documents([" ".join(words[:8]), " ".join(words[8:])])) == []
    path.write_text(" ".join(words[:8]) + "\n" + " ".join(words[8:]) + "\n" + " ".join(f"w{n}" for n in range(13)))
    assert found_in(screen([path]), documents([QUESTION])) == []


def test_a_missing_file_is_refused_before_the_run(tmp_path: Path) -> None:
    """Otherwise the corpus is read and cleaned for hours before the name is seen to be wrong."""
    path = tmp_path / "absent.jsonl"
    with pytest.raises(ConfigError, match=r"absent\.jsonl: no such file; paths are \.jsonl or plain text files"):
        parse({"dedup": [{"kind": "decontaminate", "paths": [str(path)]}]}).check_rules()
    path.write_text("{}")
    screen([path]).check()
    with pytest.raises(ConfigError, match="paths"):
        load("dedup", {"kind": "decontaminate", "paths": []})


def test_a_broken_file_is_named_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "b"}\n{"a": \n')
    with pytest.raises(InputError, match=r"a\.jsonl: line 2: "):
        screen([path]).matches(documents(["x"]))


def test_other_evaluation_texts_are_another_rule(tmp_path: Path) -> None:
    """A file that grew under the same name must screen again, in the next run and in this process."""
    path = tmp_path / "a.txt"
    path.write_text("one two three")
    kind = screen([path], ngram=3)
    before, batch = kind.identity(), documents(["one two three", "four five six"])
    assert [row for row, _ in found_in(kind, batch)] == [0]
    path.write_text("four five six")
    os.utime(path, (1, 1))
    assert kind.identity() != before
    assert [row for row, _ in found_in(kind, batch)] == [1]


@pytest.mark.parametrize("texts", [[], [""], ["", "short", ""]])
def test_documents_without_a_run(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "a.txt"
    path.write_text(QUESTION)
    assert found_in(screen([path]), documents(texts)) == []
