"""Exactly the ids of the Hugging Face library, whatever the file says besides."""

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import byte_tokenizer
from data import HARD as HARD_INPUTS
from data import SHAKESPEARE, TOKENIZERS, odd_texts, tokenizer_file, wide_vocabulary
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT
from tokenizers import Tokenizer as Reference
from tokenizers import models, pre_tokenizers

from gristmill.errors import ConfigError, InputError
from gristmill.tokenizers import _hf
from gristmill.tokenizers.base import Encoded, Encoder
from gristmill.tokenizers.huggingface import HuggingFace
from gristmill.types import token_dtype

HARD = HARD_INPUTS / "tokens"
EOTS = {"gpt2": 50256, "like_dolma2": 50256, "like_neox": 50256, "dolma2": 100257, "neox": 0}
SPECIALS = [
    "<|endoftext|>",
    "<|im_start|>",
    "</s>",
    "<s>",
    "<pad>",
    "|||IP_ADDRESS|||",
    "<|padding|>",
    "<|end",
    "oftext|>",
]
TEXTS = st.lists(st.lists(ANY_TEXT | st.sampled_from(SPECIALS), max_size=4).map("".join), max_size=4)

every = pytest.mark.parametrize("name", TOKENIZERS)


def archived(folder: Path, path: Path, **settings: Any) -> Encoder:
    """A file taken in and loaded as the stages do."""
    plugin = HuggingFace(path=str(path), **settings)
    folder.mkdir(parents=True, exist_ok=True)
    plugin.prepare(iter(()), folder)
    return plugin.load(folder)


class Encoders(dict[str, Encoder]):
    """Encoders by the name of their tokenizer, each loaded when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __missing__(self, name: str) -> Encoder:
        self[name] = archived(self.folder / name, tokenizer_file(name))
        return self[name]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Encoders:
    return Encoders(tmp_path_factory.mktemp("archives"))


@cache
def reference(name: str) -> Reference:
    found = Reference.from_file(str(tokenizer_file(name)))
    found.encode_special_tokens = True
    return found


def rows(encoded: Encoded) -> list[list[int]]:
    assert encoded.ids.dtype == np.uint32
    assert encoded.offsets.dtype == np.int64
    assert encoded.offsets[0] == 0
    assert encoded.offsets[-1] == len(encoded.ids)
    return [part.tolist() for part in np.split(encoded.ids, encoded.offsets[1:-1])] if len(encoded.offsets) > 1 else []


def from_reference(name: str, texts: list[str]) -> list[list[int]]:
    return [reference(name).encode(text, add_special_tokens=False).ids for text in texts]


def word_level(words: int, special: str = "<|endoftext|>") -> Reference:
    """A vocabulary of ``words`` words and one added token after them."""
    made = Reference(models.WordLevel({f"w{number}": number for number in range(words)}, unk_token="w0"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens([special])
    return made


def saved(folder: Path, made: Reference) -> Path:
    (folder / "tokenizer.json").write_text(made.to_str())
    return folder / "tokenizer.json"


@every
@given(texts=TEXTS)
def test_ids_of_any_text_are_those_of_the_library(encoders: Encoders, name: str, texts: list[str]) -> None:
    """A fast path that differs on one text in a million makes other models, silently."""
    wanted = from_reference(name, texts)
    assert rows(encoders[name].encode(texts)) == wanted
    assert rows(encoders[name].encode_reference(texts)) == wanted


@every
def test_ids_of_odd_documents_are_those_of_the_library(encoders: Encoders, name: str) -> None:
    texts = [text for text in odd_texts()[::3] if len(text) < 5000]
    assert len(texts) > 300
    assert rows(encoders[name].encode(texts)) == from_reference(name, texts)


@every
@pytest.mark.parametrize("text", ["a", "=", "\n", " ", "\u4e2d", "xyzzy9"])
def test_ids_of_endless_words_and_runs_are_those_of_the_library(encoders: Encoders, name: str, text: str) -> None:
    """Libraries cut them at different lengths, or take hours for them."""
    texts = [text * (200_000 // len(text)), text * 40_000 + "."]
    assert rows(encoders[name].encode(texts)) == from_reference(name, texts)


@every
def test_the_fixtures_take_the_fast_path_and_their_end_of_text(encoders: Encoders, name: str) -> None:
    """Taking the highest id instead ends documents with a padding token or a mail address."""
    encoder = encoders[name]
    assert encoder.fast_path.startswith("fastokens ")
    assert encoder.eot_id == EOTS[name]
    assert encoder.decode(np.array([encoder.eot_id])) == "<|endoftext|>"
    assert encoder.vocab_size == max(reference(name).get_vocab().values()) + 1


@every
def test_special_tokens_in_a_text_are_text(encoders: Encoders, name: str) -> None:
    """A tutorial that writes an end-of-text token must not end its document."""
    lines = (HARD / "special_words.jsonl").read_text().splitlines()
    texts = [*(json.loads(line)["text"] for line in lines), *SPECIALS, "a<|endoftext|><|endoftext|>b"]
    special = {number for number, token in reference(name).get_added_tokens_decoder().items() if token.special}
    assert EOTS[name] in special
    for encoded in (encoders[name].encode(texts), encoders[name].encode_reference(texts)):
        assert not special & set(encoded.ids.tolist())


def test_the_literal_end_of_text_has_the_ids_of_encode_ordinary(encoders: Encoders) -> None:
    assert rows(encoders["gpt2"].encode(["<|endoftext|>"])) == [[27, 91, 437, 1659, 5239, 91, 29]]


def test_golden_shakespeare(encoders: Encoders) -> None:
    """The figures that nanoGPT's data/shakespeare/prepare.py prints, and the sums of the files that it writes."""
    text = SHAKESPEARE.read_text(encoding="utf-8")
    cut = int(len(text) * 0.9)
    encoded = encoders["gpt2"].encode([text[:cut], text[cut:]])
    assert np.diff(encoded.offsets).tolist() == [301_966, 36_059]
    sums = [
        hashlib.sha256(part.astype("<u2").tobytes()).hexdigest() for part in np.split(encoded.ids, encoded.offsets[1:2])
    ]
    assert sums == [
        "502a2bdc8210d1ac5d5674867cb74467dd31db575d25cf6dbb08c8bdbea8680f",
        "68a53422394c26a655ebe641f5c6f49888e8f4e45fe5d6f02abda63ba3ebd65b",
    ]
    assert encoders["gpt2"].decode(encoded.ids) == text


def test_truncation_and_padding_in_the_file_are_ignored(tmp_path: Path) -> None:
    """They are left over from training runs: documents would be cut at 4 ids or filled up to 64."""
    made = Reference.from_file(str(byte_tokenizer(tmp_path / "bytes.json")))
    texts = ["one two three", "", "a"]
    wanted = [encoding.ids for encoding in made.encode_batch(texts)]
    assert [len(ids) for ids in wanted] == [13, 0, 1]
    made.enable_truncation(4)
    made.enable_padding(length=64)
    assert {len(encoding.ids) for encoding in made.encode_batch(texts)} == {64}
    encoder = archived(tmp_path / "x", saved(tmp_path, made))
    assert encoder.fast_path.startswith("fastokens ")
    assert rows(encoder.encode(texts)) == rows(encoder.encode_reference(texts)) == wanted


def test_bos_and_eos_of_a_post_processor_are_never_added(tmp_path: Path) -> None:
    """They would come on top of our own end of text, even on an empty document."""
    path = HARD / "auto_bos_eos.tokenizer.json"
    assert Reference.from_file(str(path)).encode("a").ids == [2, 1, 3]
    encoder = archived(tmp_path, path, eot="<eod>")
    assert (
        rows(encoder.encode(["a", "", "a a"])) == rows(encoder.encode_reference(["a", "", "a a"])) == [[1], [], [1, 1]]
    )
    assert encoder.eot_id == 0
    assert archived(tmp_path / "guessed", path).eot_id == 3


@pytest.mark.parametrize(("words", "dtype"), [(65_535, "<u2"), (65_536, "<u4")])
def test_added_tokens_decide_the_type_of_ids(tmp_path: Path, words: int, dtype: str) -> None:
    """The end of text as id 65,536 in uint16 is 0: every document would end with another token."""
    encoder = archived(tmp_path / "x", saved(tmp_path, word_level(words)))
    assert encoder.vocab_size == words + 1
    assert encoder.eot_id == words
    assert token_dtype(encoder.vocab_size).str == dtype
    assert rows(encoder.encode([f"w{words - 1} w1"])) == [[words - 1, 1]]


def test_ids_above_65535_come_out_whole(tmp_path: Path) -> None:
    encoder = archived(tmp_path, wide_vocabulary(), eot="<eod>")
    text = json.loads((HARD / "vocab70000.jsonl").read_text())["text"]
    assert rows(encoder.encode([text])) == [[1, 65535, 65536, 69999]]
    assert token_dtype(encoder.vocab_size) == np.dtype("<u4")


def test_a_tokenizer_that_the_fast_library_cannot_load_uses_the_reference(tmp_path: Path) -> None:
    encoder = archived(tmp_path / "x", saved(tmp_path, word_level(10)))
    assert encoder.fast_path.startswith("reference: tokenizers ")
    assert rows(encoder.encode(["w3 w4", "w5"])) == [[3, 4], [5]]


class Wrong:
    """A fast library that loads everything and gives other ids."""

    @staticmethod
    def from_json_str(document: str) -> "Wrong":
        assert json.loads(document)["truncation"] is None
        return Wrong()

    def encode_batch_flat(self, texts: list[str], **_: bool) -> tuple[bytes, bytes]:
        offsets = np.arange(len(texts) + 1, dtype=np.uint64)
        return np.zeros(len(texts), np.uint32).tobytes(), offsets.tobytes()


def test_a_fast_library_that_differs_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its next version may be wrong about some tokenizer: speed must never be worth an id."""
    monkeypatch.setattr(_hf.fastokens, "Tokenizer", Wrong)
    encoder = archived(tmp_path / "x", saved(tmp_path, word_level(10)))
    assert encoder.fast_path.startswith("reference: tokenizers ")
    assert rows(encoder.encode(["w3 w4"])) == [[3, 4]]


@every
def test_an_empty_batch_has_no_ids(encoders: Encoders, name: str) -> None:
    assert rows(encoders[name].encode([])) == rows(encoders[name].encode_reference([])) == []


def test_a_folder_is_as_good_as_the_file_in_it(tmp_path: Path) -> None:
    path = saved(tmp_path, word_level(10))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert HuggingFace(path=str(tmp_path)).source_digest() == HuggingFace(path=str(path)).source_digest() == digest
    saved(tmp_path, word_level(11))
    assert HuggingFace(path=str(tmp_path)).source_digest() != digest


def test_a_named_end_of_text_is_taken_and_a_missing_one_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, word_level(10, "<stop>"))
    assert archived(tmp_path / "a", path, eot="<stop>").eot_id == 10
    with pytest.raises(ConfigError, match=r"no token <end> to end a document with; name one by tokenizer\.eot"):
        archived(tmp_path / "b", path, eot="<end>")
    with pytest.raises(ConfigError, match=r"no token <\|endoftext\|> or .*</s>"):
        archived(tmp_path / "c", path)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"model": {"type": "new"}}', "\u00e9"])
def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content, encoding="latin-1")
    with pytest.raises(InputError, match=r"tokenizer .*tokenizer\.json: not a tokenizer\.json"):
        archived(tmp_path / "x", tmp_path / "tokenizer.json")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.json: No such file or directory; give the path"):
        HuggingFace(path=str(tmp_path / "gone.json")).source_digest()
    with pytest.raises(ConfigError, match="path of a tokenizer"):
        HuggingFace(path=str(tmp_path)).source_digest()


OFFLINE = """
from gristmill.errors import ConfigError
from gristmill.tokenizers.huggingface import HuggingFace
try:
    HuggingFace(name="nobody/nothing").source_digest()
except ConfigError as error:
    print(error)
"""


def test_a_hub_that_cannot_be_reached_is_the_users_to_mend(tmp_path: Path) -> None:
    """Without a network the message must say that a path would do."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", OFFLINE], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tokenizer nobody/nothing: not to be had from the hub")
    assert done.stdout.endswith("give a path\n")
