"""Ranks as tiktoken reads them: its ids, by a faster library where that is exact, and nothing downloaded."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from data import gpt2_ranks, odd_texts
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT
from tiktoken_ext import openai_public

from gristmill.errors import ConfigError, InputError
from gristmill.tokenizers import tiktoken as kind
from gristmill.tokenizers._encodings import ENCODINGS
from gristmill.tokenizers.base import Encoder
from gristmill.tokenizers.tiktoken import Tiktoken

RANKS = gpt2_ranks()
TEXTS = st.lists(st.lists(ANY_TEXT | st.sampled_from(["<|endoftext|>", "<|fim"]), max_size=4).map("".join), max_size=4)


def archived(folder: Path, **settings: Any) -> Encoder:
    plugin = Tiktoken.parse({"path": str(RANKS), "encoding": "gpt2", **settings})
    folder.mkdir(parents=True, exist_ok=True)
    plugin.prepare([], folder)
    return plugin.load(folder)


def small_ranks(folder: Path, *more: bytes) -> Path:
    """The 256 bytes and some tokens after them."""
    import base64

    tokens = [*(bytes([byte]) for byte in range(256)), *more]
    path = folder / "small.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return archived(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture(scope="module")
def reference() -> tiktoken.Encoding:
    ranks = kind._ranks(RANKS.read_bytes(), "gpt2")
    return tiktoken.Encoding(
        "gpt2", pat_str=openai_public.r50k_pat_str, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256}
    )


@given(texts=TEXTS)
def test_ids_of_any_text_are_those_of_the_library(
    encoder: Encoder, reference: tiktoken.Encoding, texts: list[str]
) -> None:
    wanted = [token for text in texts for token in reference.encode_ordinary(text)]
    for encoded in (encoder.encode(texts), encoder.encode_reference(texts)):
        assert encoded.ids.tolist() == wanted
        assert encoded.ids.dtype == np.uint32
        assert len(encoded.offsets) == len(texts) + 1


def test_ids_of_odd_documents_are_those_of_the_library(encoder: Encoder, reference: tiktoken.Encoding) -> None:
    texts = list(odd_texts())
    assert encoder.encode(texts).ids.tolist() == [id for text in texts for id in reference.encode_ordinary(text)]


def test_the_fast_library_does_the_work(encoder: Encoder) -> None:
    assert encoder.fast_path.startswith("fastokens ")
    assert (encoder.eot_id, encoder.vocab_size) == (50256, 50257)
    assert encoder.decode(np.array([15496, 995, 50256])) == "Hello world<|endoftext|>"


@pytest.mark.parametrize("name", ENCODINGS)
def test_patterns_and_special_tokens_are_those_of_the_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern with one letter changed gives other words in some texts only, and nobody would notice."""
    sums = []

    def ranks(_: str, expected_hash: str) -> dict[bytes, int]:
        sums.append(expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", ranks)
    monkeypatch.setattr(openai_public, "data_gym_to_mergeable_bpe_ranks", lambda **_: {})
    wanted = openai_public.ENCODING_CONSTRUCTORS[name]()
    assert ENCODINGS[name].pattern == wanted["pat_str"]
    assert ENCODINGS[name].special_tokens == wanted["special_tokens"]
    assert sums == [ENCODINGS[name].sha256] or name == "gpt2"


def test_the_archive_holds_the_file_as_it_is(tmp_path: Path) -> None:
    """Its sha256 identifies the tokenizer: a copy with other line ends would be another one."""
    encoder = archived(tmp_path)
    assert (tmp_path / encoder.file).read_bytes() == RANKS.read_bytes()
    assert Tiktoken(path=str(RANKS), encoding="gpt2").source_digest() == ENCODINGS["gpt2"].sha256


def test_ranks_of_another_encoding_are_refused(tmp_path: Path) -> None:
    found = hashlib.sha256(RANKS.read_bytes()).hexdigest()
    with pytest.raises(ConfigError, match=f"sha256 {found}; the ranks of cl100k_base have 223921"):
        archived(tmp_path, encoding="cl100k_base")


def test_a_pattern_and_special_tokens_of_ones_own(tmp_path: Path) -> None:
    own = {"path": str(small_ranks(tmp_path, b"ab", b" ab")), "encoding": None, "pattern": r" ?\w+|[^\w]+"}
    encoder = archived(tmp_path / "x", **own, special_tokens={"<stop>": 258, "<|endoftext|>": 300}, eot="<stop>")
    assert encoder.encode(["ab ab", "", "a<stop>"]).ids.tolist() == [256, 257, 97, *b"<stop>"]
    assert (encoder.eot_id, encoder.vocab_size) == (258, 301)
    with pytest.raises(ConfigError, match=r"no special token <\|endoftext\|>; there are: <stop>"):
        archived(tmp_path / "y", **own, special_tokens={"<stop>": 258})


def test_a_tokenizer_that_the_fast_library_cannot_load_uses_the_reference(tmp_path: Path) -> None:
    """Ranks with a gap, as p50k_base has one."""
    path = small_ranks(tmp_path, b"ab")
    path.write_bytes(path.read_bytes() + b"YWJj 300\n")
    own = {"path": str(path), "encoding": None, "pattern": r"\w+|\W+", "special_tokens": {"<|endoftext|>": 299}}
    encoder = archived(tmp_path / "x", **own)
    assert encoder.fast_path.startswith("reference: tiktoken ")
    assert encoder.encode(["abc ab"]).ids.tolist() == [300, 32, 256]


@pytest.mark.parametrize("lines", [b"QQ== x\n", b"!! 1\n", b"QQ==\n", b"\xff\xfe 1 2\n"])
def test_a_file_that_holds_no_ranks_is_named(tmp_path: Path, lines: bytes) -> None:
    (tmp_path / "bad.tiktoken").write_bytes(b"QUI= 0\n" + lines)
    with pytest.raises(InputError, match=r"bad\.tiktoken: line 2 of its ranks is"):
        archived(tmp_path / "x", path=str(tmp_path / "bad.tiktoken"), encoding=None, pattern=r"\w+")


BLANKS = " " * 1_000_000 + "x"
"""The fast library takes them."""


def test_a_text_that_the_library_gives_up_on_is_an_error_of_the_input(tmp_path: Path) -> None:
    own = {"path": str(small_ranks(tmp_path)), "encoding": None, "pattern": ENCODINGS["gpt2"].pattern + "|x"}
    encoder = archived(tmp_path / "x", **own, special_tokens={"<|endoftext|>": 256})
    with pytest.raises(InputError, match="cannot encode a document of 1000001 characters"):
        encoder.encode_reference([BLANKS])


def test_where_words_are_known_the_library_gets_pieces_that_it_takes(encoder: Encoder) -> None:
    """Else such a document could be published and never be verified."""
    found = encoder.encode_reference([BLANKS]).ids
    assert found.tolist()[-2:] == [220, 2124]
    assert np.array_equal(found, encoder.encode([BLANKS]).ids)
    assert len(list(encoder.reference_pieces(BLANKS))) > 5


@pytest.mark.parametrize("text", ["a", "\u4e2d\u6587", "1", "\n", "It is 12 o'clock.\n"])
def test_pieces_of_a_long_text_have_the_ids_of_the_library(
    encoder: Encoder, reference: tiktoken.Encoding, text: str
) -> None:
    """The whole of a document is never held as ids."""
    text *= 150_000 // len(text)
    pieces = list(encoder.pieces(text))
    assert len(pieces) > 1
    assert np.concatenate(pieces).tolist() == reference.encode_ordinary(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoding": None}, "either encoding or pattern"),
        ({"pattern": "x"}, "either encoding or pattern"),
        ({"encoding": "cl100k"}, "'cl100k'; there are: gpt2, .*o200k_base"),
        ({"special_tokens": {"<x>": 5}}, "special_tokens go with pattern"),
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Tiktoken.parse({"path": "x", "encoding": "gpt2", **settings})


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"gone\.tiktoken: No such file or directory; give the path of a \.tiktoken"):
        Tiktoken(path="gone.tiktoken", encoding="gpt2").source_digest()


WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
from gristmill import plugins
from gristmill.errors import ConfigError
try:
    plugins.load("tokenizers", {"kind": sys.argv[1], **eval(sys.argv[2])}).check()
except ConfigError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("name", "settings"), [("tiktoken", {"path": "x", "encoding": "gpt2"}), ("sentencepiece", {"path": "x"})]
)
def test_a_missing_package_is_named_with_how_to_install_it(name: str, settings: dict[str, str]) -> None:
    """Both are extras: a traceback after hours of cleaning would be the first to say so."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, name, json.dumps(settings)], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"tokenizer: kind {name} needs the package {name}: pip install 'gristmill[{name}]'\n"
