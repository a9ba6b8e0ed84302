"""Validation is the end of the text, cut at a character."""

from pathlib import Path

import numpy as np
import pytest
from corpora import published, request, write_documents
from data import SHAKESPEARE
from hypothesis import given
from hypothesis import strategies as st

from gristmill import pipeline
from gristmill.errors import ConfigError
from gristmill.splits.base import Corpus
from gristmill.splits.characters import Characters


def cut(characters: list[int], share: float = 0.1) -> int | None:
    return Characters(fraction=share).cut(Corpus(documents=[1] * len(characters), characters=characters))


@given(st.lists(st.integers(0, 10**12), max_size=5))
def test_nine_tenths_are_cut_as_the_shakespeare_scripts_do(characters: list[int]) -> None:
    """``data[:int(n * 0.9)]``: a character off and the golden files do not come out."""
    assert cut(characters) == int(sum(characters) * 0.9)


def test_the_golden_cut() -> None:
    text = SHAKESPEARE.read_text()
    assert cut([len(text)]) == 1_003_854
    assert len(text) - 1_003_854 == 111_540


def test_any_other_order_than_input_is_refused() -> None:
    """A cut in shuffled text would hold out pieces of everything."""
    Characters().check_ordering("input")
    with pytest.raises(ConfigError, match="not 'hashed'"):
        Characters().check_ordering("hashed")


@pytest.mark.parametrize(
    ("files", "share", "train", "val"),
    [
        ([["abcdefghij"]], 0.1, ["abcdefghi"], ["j"]),
        ([["abcde"], ["fghij"]], 0.5, ["abcde"], ["fghij"]),
        ([["abcdef", "ghij"]], 0.5, ["abcde"], ["f", "ghij"]),
        ([["a"], ["bcd", "ef"], ["gh"]], 0.5, ["a", "bcd"], ["ef", "gh"]),
        ([["ab"]], 0.9, [], ["ab"]),
        ([["\u00e9\u4e2d\U0001f600x"]], 0.5, ["\u00e9\u4e2d"], ["\U0001f600x"]),
    ],
)
def test_the_document_at_the_cut_goes_to_both_sides(
    tmp_path: Path, files: list[list[str]], share: float, train: list[str], val: list[str]
) -> None:
    """A document lost at the boundary, or a cut within a character of several bytes."""
    for number, texts in enumerate(files):
        write_documents(tmp_path / "in" / f"{number}.jsonl", texts)
    config = request(tmp_path, split={"kind": "characters", "fraction": share})
    pipeline.prepare(config)
    assert published(config) == [*train, *val]


def test_a_share_below_one_character_holds_nothing_out() -> None:
    assert not Characters().held_out(np.zeros(1, np.uint64), last_shard=True, shards=1, key_space=1).any()
