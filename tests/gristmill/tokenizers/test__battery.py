"""Whether text can reach EOS is known before any work begins."""

import base64
import json
from pathlib import Path

import pytest
import sentencepiece
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from gristmill.errors import ConfigError
from gristmill.tokenizers._battery import check_special, spellings
from gristmill.tokenizers.base import Encoder
from gristmill.tokenizers.bytes import ByteEncoder, Bytes
from gristmill.tokenizers.huggingface import HuggingFace
from gristmill.tokenizers.sentencepiece import SentencePiece
from gristmill.tokenizers.tiktoken import Tiktoken


def huggingface(folder: Path, eot: str) -> Encoder:
    """A byte-level model that merges ``the`` and lacks no byte."""
    pieces = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "th", "the", "\u0120the"]
    merges = [("t", "h"), ("th", "e"), ("\u0120", "the")]
    made = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    (folder / "a.json").write_text(made.to_str())
    return archived(HuggingFace(path=str(folder / "a.json"), eot=eot), folder)


def archived(plugin: HuggingFace | SentencePiece | Tiktoken, folder: Path) -> Encoder:
    (folder / "archive").mkdir()
    plugin.prepare([], folder / "archive")
    return plugin.load(folder / "archive")


@pytest.mark.parametrize(
    ("eot", "text"), [("\u010a", r"'\\n'"), ("the", "'the'"), ("\u0120the", "' the'"), ("x", "'x'")]
)
def test_eos_that_is_an_ordinary_token_is_named_with_its_text(tmp_path: Path, eot: str, text: str) -> None:
    """The run would end after hours with more EOS counted than documents; without EOS in the format, in silence."""
    with pytest.raises(ConfigError, match=rf"a\.json: a document with the text {text} gets id \d+ of EOS .*; .*eot"):
        check_special(huggingface(tmp_path, eot))


def test_eos_that_is_the_unknown_token_is_named_with_both(tmp_path: Path) -> None:
    made = Tokenizer(models.WordLevel({"</s>": 0, "a": 1}, unk_token="</s>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    (tmp_path / "a.json").write_text(made.to_str())
    with pytest.raises(ConfigError, match=r"gets id 0 of EOS '</s>', which is the unknown token too; name"):
        check_special(archived(HuggingFace(path=str(tmp_path / "a.json")), tmp_path))


def test_an_unknown_token_that_no_text_needs_may_be_eos(tmp_path: Path) -> None:
    """Byte-level models name one all the same."""
    document = json.loads((huggingface(tmp_path, "x") and tmp_path / "a.json").read_text())
    document["model"]["vocab"]["<|endoftext|>"] = 300
    document["model"]["unk_token"] = "<|endoftext|>"
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "b.json").write_text(json.dumps(document))
    encoder = archived(HuggingFace(path=str(tmp_path / "b" / "b.json")), tmp_path / "b")
    assert encoder.eot_id == encoder.unk_id == 300
    check_special(encoder)


def sentences(folder: Path, kind: str) -> Path:
    lines = [f"the quick brown fox {number} jumps over the lazy dog" for number in range(200)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_prefix=str(folder / "m"),
        vocab_size=300 if kind == "bytes" else 60,
        model_type="bpe" if kind == "bytes" else "unigram",
        byte_fallback=kind == "bytes",
        hard_vocab_limit=False,
        user_defined_symbols=["<stop>"],
        control_symbols=["<sep>"],
        minloglevel=2,
    )
    return folder / "m.model"


@pytest.mark.parametrize(
    ("kind", "eot"), [("unigram", "<stop>"), ("unigram", "\u2581"), ("unigram", "<unk>"), ("bytes", "<0xE4>")]
)
def test_pieces_of_sentencepiece_that_text_reaches_are_no_eos(tmp_path: Path, kind: str, eot: str) -> None:
    with pytest.raises(ConfigError, match=r"m\.model: a document with the text .* gets id \d+ of EOS"):
        check_special(archived(SentencePiece(path=str(sentences(tmp_path, kind)), eot=eot), tmp_path))


@pytest.mark.parametrize("kind", ["unigram", "bytes"])
def test_control_symbols_of_sentencepiece_are_out_of_reach(tmp_path: Path, kind: str) -> None:
    encoder = archived(SentencePiece(path=str(sentences(tmp_path, kind))), tmp_path)
    assert set(encoder.specials.values()) == {"<s>", "</s>", "<sep>"}
    check_special(encoder)


def ranks(folder: Path, special: str, number: int) -> Encoder:
    tokens = [base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256)]
    (folder / "r.tiktoken").write_bytes(b"".join(tokens))
    specials = {special: number}
    plugin = Tiktoken(path=str(folder / "r.tiktoken"), pattern=r"\w+|\W+", special_tokens=specials, eot=special)
    return archived(plugin, folder)


def test_a_special_id_of_tiktoken_that_is_a_rank_too_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a document with the text '\\n' gets id 10 of EOS '<s>'"):
        check_special(ranks(tmp_path, "<s>", 10))


@pytest.mark.parametrize("special", ["<s>", "a", " "])
def test_special_tokens_of_tiktoken_are_never_looked_for(tmp_path: Path, special: str) -> None:
    check_special(ranks(tmp_path, special, 256))


def test_bytes_have_an_eos_of_their_own(tmp_path: Path) -> None:
    encoder = Bytes().load(tmp_path)
    assert encoder.reserved() == {256: "EOS"}
    check_special(encoder)


def test_spellings_hold_forms_that_normalizers_map_onto_the_token() -> None:
    found = "\n".join(spellings("</s>"))
    assert all(
        form in found for form in ("a</s>b", "</s></s>", "</S>", "\uff1c\uff0f\uff53\uff1e", "\n</s>\n", "1</s>")
    )


def test_eos_of_a_plugin_that_names_no_special_token_is_proven_too() -> None:
    """A tokenizer of one's own says which id EOS is, and may say no more."""

    class Halves(ByteEncoder):
        eot_id = 10

    with pytest.raises(ConfigError, match=r"a document with the text '\\n' gets id 10 of EOS"):
        check_special(Halves())
