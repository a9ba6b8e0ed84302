"""Texts are cut for tokenizers whose words are known, and left whole for all others."""

import json
from functools import cache
from typing import Any

import pytest
from data import tokenizer_file

from gristmill.tokenizers._encodings import ENCODINGS
from gristmill.tokenizers._rules import UNUSED, WORDS, rules_of, rules_of_ranks


@cache
def content(name: str) -> str:
    return tokenizer_file(name).read_text()


def changed(name: str = "gpt2", **parts: Any) -> dict[str, Any]:
    """A fixture with other ``parts``; those of its model by their names."""
    document: dict[str, Any] = json.loads(content(name))
    for part, value in parts.items():
        (document if part in document else document["model"])[part] = value
    return document


def added(text: str, **flags: Any) -> dict[str, Any]:
    usual = {"id": 60_000, "content": text, "special": False, "single_word": False, "lstrip": False, "rstrip": False}
    return usual | flags


def test_the_fixtures_have_the_rules_of_their_expressions() -> None:
    gpt2, dolma2, neox = (rules_of(changed(name)) for name in ("gpt2", "like_dolma2", "like_neox"))
    assert gpt2 is not None
    assert dolma2 is not None
    assert neox is not None
    assert (gpt2.words.digits, gpt2.words.newlines, gpt2.tokens) == (None, "plain", {})
    assert (dolma2.words.digits, dolma2.words.newlines) == (3, "gathered")
    assert "|||IP_ADDRESS|||" in dolma2.tokens.values()
    assert "<|endoftext|>" not in dolma2.tokens.values()
    assert neox.tokens[50257] == " " * 24


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
SPLIT = {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    "parts",
    [
        {"pre_tokenizer": None},
        {"pre_tokenizer": BYTES | {"add_prefix_space": True}},
        {"pre_tokenizer": BYTES | {"use_regex": False}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, BYTES | {"use_regex": False}]}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, BYTES]}},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"normalizer": {"type": "NFKC"}},
        {"type": "WordPiece"},
        {"dropout": 0.1},
        {"unk_token": "<unk>"},
        {"end_of_word_suffix": "</w>"},
        {"vocab": {"a": 0}},
        {"added_tokens": [added("<x>", lstrip=True)]},
        {"added_tokens": [added("<x>", rstrip=True)]},
        {"added_tokens": [added("<x>", single_word=True)]},
        {"added_tokens": [added("<\u00e9>")]},
        {"added_tokens": [added("")]},
        {"added_tokens": [added("<x>"), added("a<x>b", special=True)]},
        {"added_tokens": [added("<x>"), added("x>b", special=True)]},
        {"added_tokens": [added("the", id=1169)]},  # merges give it too
    ],
    ids=str,
)
def test_where_words_are_not_known_nothing_is_cut(parts: dict[str, Any]) -> None:
    """A guess would be right on all texts but the ones that nobody looks at."""
    assert rules_of(changed()) is not None
    assert rules_of(changed(**parts)) is None


def test_other_added_tokens_are_no_obstacle() -> None:
    found = rules_of(changed(added_tokens=[added("<x>"), added("<y>", special=True), added("\u00e9", special=True)]))
    assert found is not None
    assert found.tokens == {60_000: "<x>"}


def test_files_of_ranks_are_cut_by_their_published_patterns() -> None:
    ranks = {bytes([byte]): byte for byte in range(256) if byte not in UNUSED}
    for name in ("gpt2", "cl100k_base"):
        found = rules_of_ranks(ranks, ENCODINGS[name].pattern)
        assert found is not None
        assert found.words == WORDS[ENCODINGS[name].pattern]
    assert rules_of_ranks(ranks, r"\w+|\W+") is None
    assert rules_of_ranks({b"a": 0}, ENCODINGS["gpt2"].pattern) is None
