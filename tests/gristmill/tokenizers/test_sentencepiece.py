"""Models of sentencepiece: its ids, nothing added, nothing taken for a control symbol."""

from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from corpora import small_corpus
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT

from gristmill.errors import ConfigError, InputError
from gristmill.tokenizers.base import Encoder
from gristmill.tokenizers.sentencepiece import SentencePiece


def model(folder: Path, **settings: object) -> Path:
    """A small model trained on real text."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for text in small_corpus(40) for line in text[:2000].split("\n") if line]),
        model_prefix=str(folder / "m"),
        vocab_size=1500,
        character_coverage=0.98,
        minloglevel=2,
        **settings,
    )
    return folder / "m.model"


def archived(folder: Path, path: Path, eot: str | None = None) -> Encoder:
    plugin = SentencePiece(path=str(path), eot=eot)
    folder.mkdir(exist_ok=True)
    plugin.prepare([], folder)
    assert (folder / "tokenizer.model").read_bytes() == path.read_bytes()
    return plugin.load(folder)


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    kind = {"model_type": request.param, "byte_fallback": request.param == "bpe"}
    return model(tmp_path_factory.mktemp("m"), user_defined_symbols=["<stop>"], **kind)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory, path: Path) -> Encoder:
    return archived(tmp_path_factory.mktemp("archive"), path)


@given(texts=st.lists(ANY_TEXT, max_size=5))
def test_ids_are_those_of_the_library(encoder: Encoder, path: Path, texts: list[str]) -> None:
    reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
    encoded = encoder.encode(texts)
    assert encoded.ids.dtype == np.uint32
    rows = [encoded.ids[a:b].tolist() for a, b in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)]
    assert rows == [reference.encode(text) for text in texts]


def test_the_manifest_can_say_what_encoded(encoder: Encoder) -> None:
    assert encoder.fast_path == f"reference: sentencepiece {sentencepiece.__version__}"
    assert encoder.vocab_size == 1500
    assert encoder.decode(encoder.encode(["one two"]).ids) == "one two"


def test_control_symbols_in_a_text_are_text(encoder: Encoder) -> None:
    """A page about tokenizers must not end where it writes ``</s>``."""
    ids = encoder.encode(["<s> a </s> b"]).ids.tolist()
    assert encoder.eot_id == 2
    assert not {1, 2} & set(ids)


def test_what_the_model_does_not_cover_is_counted_as_unknown(tmp_path: Path) -> None:
    encoder = archived(tmp_path / "x", model(tmp_path, model_type="unigram"))
    assert encoder.encode(["\U0001f469"]).ids.tolist()[-1] == encoder.unk_id == 0


def test_an_end_of_text_can_be_named_and_a_missing_one_is_refused(tmp_path: Path, path: Path) -> None:
    assert archived(tmp_path / "a", path, "<stop>").eot_id == 3
    with pytest.raises(ConfigError, match="no piece <end> to end a document with"):
        archived(tmp_path / "b", path, "<end>")
    (tmp_path / "c").mkdir()
    with pytest.raises(ConfigError, match="no piece </s> to end a document with; name one by eot"):
        archived(tmp_path / "d", model(tmp_path / "c", model_type="bpe", eos_id=-1))


def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.model").write_bytes(b"not a model")
    with pytest.raises(InputError, match=r"bad\.model: not a model of sentencepiece"):
        archived(tmp_path / "x", tmp_path / "bad.model")
    with pytest.raises(ConfigError, match=r"gone\.model: No such file or directory"):
        SentencePiece(path=str(tmp_path / "gone.model")).source_digest()
