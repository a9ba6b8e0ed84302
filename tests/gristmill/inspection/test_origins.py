"""Ids of published documents, found by their text in the input."""

from pathlib import Path
from typing import Any

import pytest
from corpora import request, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.inspection.browse import Browser

TEXTS = [f"Document   {number} says something.\nIts second line is number {number}." for number in range(12)]
REPEATED = (
    "This long sentence stands in every one of the documents and is taken from all but the first one, where it stays."
)


def made(folder: Path, texts: list[str], **settings: Any) -> PrepareConfig:
    for part in range(2):
        write_documents(folder / "in" / f"{part}.jsonl.gz", texts[part::2])
    config = request(folder, ordering={"kind": "hashed"}, **settings)
    pipeline.prepare(config)
    return config


def names(config: PrepareConfig) -> dict[str, str]:
    """The id of each document of both splits by the number that it has in its text."""
    found = {}
    splits = {file.split for file in Browser(config.destination).manifest.files}
    for browser in (Browser(config.destination, split=split) for split in splits):
        parts = [browser.document(number) for number in range(browser.documents)]
        for part, name in zip(parts, browser.names(parts, remote=False), strict=True):
            found[part.text.lower().split("document")[1].split()[0]] = name
    return found


EXPECTED = {str(number): f"{number % 2}.jsonl.gz:{number // 2 + 1}" for number in range(12)}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"cleaning": [{"kind": "whitespace"}], "split": {"kind": "fraction", "fraction": 0.3}},
        {"tokenizer": {"kind": "train", "algorithm": "wordpiece", "vocab_size": 300}},
        {"formats": [{"kind": "nanochat_text", "world_size": 1}], "split": {"kind": "fraction", "fraction": 0.3}},
    ],
)
def test_an_id_is_found_whatever_was_done_to_the_text(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Rules rewrite a text, and some tokenizers lose a part of it: the input has neither."""
    assert names(made(tmp_path, TEXTS, **settings)) == EXPECTED


def test_an_id_is_found_of_a_document_that_lost_parts(tmp_path: Path) -> None:
    texts = [f"{text} {REPEATED} The end of document number {number} comes here." for number, text in enumerate(TEXTS)]
    config = made(tmp_path, texts, dedup=[{"kind": "sentence", "sentences": 1, "min_left": 1}])
    assert names(config) == EXPECTED
    assert sum(REPEATED in Browser(config.destination).document(number).text for number in range(12)) == 1


def test_no_id_is_made_up_where_the_input_is_gone_or_another(tmp_path: Path) -> None:
    """A wrong id sends people to mend the wrong document."""
    config = made(tmp_path, TEXTS)
    write_documents(tmp_path / "in" / "0.jsonl.gz", ["something else"])
    assert {name for number, name in names(config).items() if int(number) % 2 == 0} == {""}
    (tmp_path / "in" / "1.jsonl.gz").unlink()
    assert set(names(config).values()) == {""}
