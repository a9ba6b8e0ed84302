"""A byte-level BPE trained on the corpus."""

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
from gristmill.tokenizers.base import Encoder
from gristmill.tokenizers.train import Train
from gristmill.workers import ONE_THREAD

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
Train(vocab_size=int(sys.argv[2])).prepare([texts], Path(sys.argv[1]))
"""


def test_training_gives_the_same_file_every_time(tmp_path: Path, corpus: list[str]) -> None:
    """Ids that depend on threads, hashing or batch sizes would make every rerun another data set."""
    (tmp_path / "alone").mkdir()
    subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path / "alone"), str(SIZE)],
        input=json.dumps(corpus),
        text=True,
        check=True,
        env={**os.environ, **ONE_THREAD, "PYTHONHASHSEED": "5"},
    )
    trained(tmp_path / "a", [corpus])
    trained(tmp_path / "b", [corpus[:1], [], corpus[1:40], corpus[40:]])
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
