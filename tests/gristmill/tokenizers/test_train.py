"""Tokenizers trained on the corpus."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from corpora import small_corpus
from hypothesis import given
from texts import ANY_TEXT

from gristmill.errors import ConfigError
from gristmill.processes.pool import ONE_THREAD
from gristmill.tokenizers._words import without_endless_words
from gristmill.tokenizers.base import Encoder
from gristmill.tokenizers.train import Train, settled

SIZE = 400


def trained(folder: Path, batches: list[list[str]], **settings: object) -> Encoder:
    folder.mkdir(parents=True, exist_ok=True)
    plugin = Train.parse({"vocab_size": SIZE, **settings})
    plugin.prepare(batches, folder)
    return plugin.load(folder)


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    return [text[:3000] for text in small_corpus(60)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory, corpus: list[str]) -> Encoder:
    return trained(tmp_path_factory.mktemp("trained"), [corpus])


ALONE = """
import json, sys
from pathlib import Path
from gristmill.tokenizers.train import Train
texts = json.load(sys.stdin)
Train.parse(json.loads(sys.argv[2])).prepare([texts], Path(sys.argv[1]))
"""


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece"])
def test_training_gives_the_same_file_every_time(tmp_path: Path, corpus: list[str], algorithm: str) -> None:
    """Ids that depend on threads, hashing or batch sizes would make every rerun another data set."""
    (tmp_path / "alone").mkdir()
    settings = {"vocab_size": 4 * SIZE, "algorithm": algorithm}
    subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path / "alone"), json.dumps(settings)],
        input=json.dumps(corpus),
        text=True,
        check=True,
        env={**os.environ, **ONE_THREAD, "PYTHONHASHSEED": "5"},
    )
    trained(tmp_path / "a", [corpus], **settings)
    trained(tmp_path / "b", [corpus[:1], [], corpus[1:40], corpus[40:]], **settings)
    files = {(tmp_path / name / "tokenizer.json").read_bytes() for name in ("alone", "a", "b")}
    assert len(files) == 1


def test_the_vocabulary_has_the_size_asked_for_and_an_end_of_text(encoder: Encoder) -> None:
    assert encoder.vocab_size == SIZE
    assert encoder.eot_id is not None
    assert encoder.decode(np.array([encoder.eot_id])) == "<|endoftext|>"
    assert encoder.fast_path.startswith("fastokens")


@given(ANY_TEXT)
def test_every_text_comes_back_unchanged(encoder: Encoder, text: str) -> None:
    """A byte that training never met must have an id all the same, and a literal end of text stays text."""
    encoded = encoder.encode([text, "<|endoftext|>"])
    assert encoder.decode(encoded.ids) == f"{text}<|endoftext|>"
    assert encoder.eot_id not in encoded.ids.tolist()
    assert encoded.ids.tolist() == encoder.encode_reference([text, "<|endoftext|>"]).ids.tolist()


def test_training_learns_from_every_batch(tmp_path: Path) -> None:
    """A training that read only the first batch would know half of the corpus."""
    encoder = trained(tmp_path, [["first first first"], ["second second second"]], vocab_size=280)
    lengths = np.diff(encoder.encode([" first", " second"]).offsets)
    assert lengths.tolist() == [1, 1]


def test_a_corpus_too_small_for_the_vocabulary_gives_a_smaller_one(tmp_path: Path) -> None:
    encoder = trained(tmp_path, [["ab"]])
    assert encoder.vocab_size == 257
    assert encoder.decode(encoder.encode(["xyz"]).ids) == "xyz"


def test_another_end_of_text_can_be_named(tmp_path: Path) -> None:
    encoder = trained(tmp_path, [["ab"]], eot="<stop>")
    assert encoder.decode(np.array([encoder.eot_id])) == "<stop>"


def test_a_vocabulary_without_room_for_all_bytes_is_refused() -> None:
    with pytest.raises(ConfigError, match="vocab_size"):
        Train.parse({"vocab_size": 256})


def test_it_asks_for_no_more_text_than_configured() -> None:
    """Training on all of a terabyte would never end."""
    assert Train(sample_characters=1000).sample({"web": 3000, "books": 1000}) == {"web": 0.25, "books": 0.25}
    assert Train(sample_characters=1000).sample({"web": 10}) == {"web": 1.0}
    assert Train.needs_documents


def test_wordpiece_knows_words_and_says_what_it_does_not_know(tmp_path: Path, corpus: list[str]) -> None:
    encoder = trained(tmp_path, [corpus], algorithm="wordpiece", vocab_size=1000, special_tokens=["<pad>"])
    assert encoder.vocab_size == 1000
    assert encoder.eot_id == 0
    assert encoder.unk_id == 2
    assert encoder.encode(["the \U0001d504 the"]).ids.tolist()[1] == encoder.unk_id
    texts = ["<pad>", "<|endoftext|>", "[UNK]", *corpus]
    assert not {0, 1} & set(encoder.encode(texts).ids.tolist())
    assert encoder.decode(encoder.encode(["there"]).ids) == "there"


def test_unigram_gives_the_same_file_and_keeps_white_space(tmp_path: Path, corpus: list[str]) -> None:
    """The library's scores are sums in an order of their own each time, and rare characters are numbered by it."""
    texts = [*(text[:300].encode("ascii", "ignore").decode() for text in corpus[:30]), "\u4e2d\u6587\u5206\u8bcd"]
    made = [trained(tmp_path / name, [texts], algorithm="unigram", vocab_size=500) for name in "ab"]
    files = {(tmp_path / name / "tokenizer.json").read_bytes() for name in "ab"}
    assert len(files) == 1
    assert [encoder.unk_id for encoder in made] == [1, 1]
    for text in ("one  two\n\n three", " one \u6587"):
        assert made[0].decode(made[0].encode([text]).ids) == text


def test_what_is_random_in_a_unigram_model_is_settled() -> None:
    special = [["<eot>", 0.0], ["<unk>", 0.0]]
    one = {"e": -2.5, "ab": -7.0000000000001, "cd": -7.0, "b": -8.9999, "c": -8.9998, "a": -9.0, "xy": -9.0}
    other = {"e": -2.5000000000001, "cd": -7.0, "ab": -7.0, "xy": -9.0, "a": -8.9998, "b": -9.0, "c": -8.9999}
    wanted = {"e": -2.5, "ab": -7.0, "cd": -7.0, "c": -8.9998, "b": -8.9999, "a": -9.0, "xy": -9.0}
    for pieces in (one, other):
        found = settled([*special, *([piece, score] for piece, score in pieces.items())], 2)
        assert found == [*special, *([piece, score] for piece, score in wanted.items())]


def test_a_vocabulary_that_does_not_hold_the_alphabet_is_refused(tmp_path: Path) -> None:
    """The library would give a larger one than the model was made for."""
    texts = [" ".join(chr(0x4E00 + number) for number in range(600))]
    with pytest.raises(ConfigError, match=r"vocab_size: 300, by algorithm unigram: .* not large enough to contain all"):
        trained(tmp_path / "a", [texts], algorithm="unigram", vocab_size=300)
    many = [f"<{number}>" for number in range(100)]
    with pytest.raises(ConfigError, match=r"vocab_size: 300 is too few for the 357 entries"):
        trained(tmp_path / "b", [texts], special_tokens=many, vocab_size=300)


def test_weights_share_out_the_sample() -> None:
    """Half of the sample from a source of a tenth of the text; one that has less than its share gives all."""
    plugin = Train(sample_characters=1000, weights={"web": 0.5, "books": 0.5, "notes": 1, "logs": 0})
    shares = plugin.sample({"web": 10_000, "books": 1000, "notes": 100, "logs": 5000})
    assert shares == {"web": 0.025, "books": 0.25, "notes": 1.0, "logs": 0.0}


@pytest.mark.parametrize(
    "weights", [{"web": 1}, {"web": 1, "book": 1}, {"web": -1, "books": 2}, {"web": 0, "books": 0}]
)
def test_weights_that_do_not_fit_the_sources_are_refused(weights: dict[str, float]) -> None:
    """A misspelt name would leave a source out of the vocabulary without a word."""
    with pytest.raises(ConfigError, match=r"tokenizer\.weights: .*for each of the sources web, books"):
        Train(weights=weights).sample({"web": 1, "books": 1})


def test_endless_words_are_not_trained_on() -> None:
    """A megabyte of base64 would be looked at once for every merge: hours for nothing."""
    word = "b64" * 2000
    assert without_endless_words(f"one {word} two\nthree") == "one two three"
    assert without_endless_words("one" + "\n" * 5000 + "two") == "one two"
    kept = f"one  two\n{'long ' * 3000}{word[:4096]}"
    assert without_endless_words(kept) is kept
