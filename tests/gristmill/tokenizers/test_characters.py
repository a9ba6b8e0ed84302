"""One id a character, as nanoGPT's shakespeare_char has them."""

import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest
from data import SHAKESPEARE
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import InputError
from gristmill.tokenizers.base import Encoder
from gristmill.tokenizers.characters import Characters

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def made(folder: Path, batches: list[list[str]]) -> Encoder:
    Characters().prepare(iter(batches), folder)
    return Characters().load(folder)


@given(st.lists(TEXT, min_size=1))
def test_ids_are_places_among_the_sorted_characters(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """Characters outside the basic plane count as one, as Python counts them."""
    encoder = made(tmp_path_factory.mktemp("x"), [texts[:1], texts[1:]])
    vocabulary = sorted(set("".join(texts)))
    encoded = encoder.encode(texts)
    assert encoded.ids.tolist() == [vocabulary.index(character) for text in texts for character in text]
    assert encoded.ids.dtype == np.uint32
    assert encoded.offsets.tolist() == np.cumsum([0, *map(len, texts)]).tolist()
    assert encoder.decode(encoded.ids) == "".join(texts)
    assert encoder.vocab_size == len(vocabulary)


def test_golden_shakespeare_char(tmp_path: Path) -> None:
    """The sums of the files that nanoGPT's data/shakespeare_char/prepare.py writes, and what its meta.pkl holds."""
    text = SHAKESPEARE.read_text(encoding="utf-8")
    encoder = made(tmp_path, [[text]])
    ids = encoder.encode([text]).ids.astype("<u2")
    sums = [hashlib.sha256(part.tobytes()).hexdigest() for part in (ids[:1_003_854], ids[1_003_854:])]
    assert sums == [
        "6ec305602a99ac2802745a134e1f5e33e2231b4855525b00b9aebb730ac2626f",
        "d37d30cc0c8327c270d493299c3dca54135f6d5f1c9ef60cda78076e311204b1",
    ]
    meta = pickle.loads((tmp_path / "meta.pkl").read_bytes())
    assert meta["vocab_size"] == encoder.vocab_size == 65
    assert "".join(meta["itos"][number] for number in range(65)) == "".join(sorted(set(text)))
    assert meta["stoi"] == {character: number for number, character in meta["itos"].items()}


def test_there_is_no_end_of_text(tmp_path: Path) -> None:
    """A format that would append one must be refused by the vocabulary stage, which asks this."""
    assert made(tmp_path, [["ab"]]).eot_id is None
    assert Characters.needs_documents
    assert Characters().sample({"web": 10**12}) == {"web": 1.0}


@pytest.mark.parametrize("character", ["c", "\u00e9", "\U0001f600", "\U0010ffff"])
def test_an_unknown_character_is_an_error(tmp_path: Path, character: str) -> None:
    """Leaving it out would shorten the text in silence."""
    with pytest.raises(InputError, match="is not in the vocabulary of 2") as caught:
        made(tmp_path, [["ab"]]).encode(["ab", f"a{character}b"])
    assert repr(character) in str(caught.value)
    assert caught.value.reason == "bad_ids"


def test_empty_batches_and_texts(tmp_path: Path) -> None:
    encoder = made(tmp_path, [[], ["a", ""]])
    assert encoder.encode([]).offsets.tolist() == [0]
    assert encoder.encode(["", "a", ""]).offsets.tolist() == [0, 0, 1, 1]


def test_the_files_are_the_same_for_any_order_of_documents(tmp_path: Path) -> None:
    """The set of characters has no order of its own: ids must not depend on hashing."""
    for name, batches in (("a", [["xyz", "abc"]]), ("b", [["cba"], ["zyx"]])):
        (tmp_path / name).mkdir()
        made(tmp_path / name, batches)
    for file in ("characters.json", "meta.pkl"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
