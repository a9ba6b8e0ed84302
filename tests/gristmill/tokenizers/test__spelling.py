"""Text that spells a special token is ordinary text, whatever model, normalizer or flag the tokenizer has."""

import json
from pathlib import Path
from typing import Any

import pytest
from corpora import byte_tokenizer
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from gristmill.tokenizers import _hf
from gristmill.tokenizers._battery import check_special, spellings
from gristmill.tokenizers._spelling import as_text
from gristmill.tokenizers.base import Encoder

LETTERS = "abcdefghijklmnopqrstuvwxyz</>[]UNKS1 \u2581"


def loaded(folder: Path, made: Tokenizer | dict[str, Any], eot: str | None = None) -> Encoder:
    document = made if isinstance(made, dict) else json.loads(made.to_str())
    folder.mkdir(exist_ok=True)
    _hf.archive(folder, json.dumps(document).encode(), name="own", eot=eot)
    return _hf.HuggingFaceEncoder(folder)


def unigram(*, byte_fallback: bool = False) -> Tokenizer:
    """As T5's: its special tokens are pieces, of the best score."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("<extra>", 0.0)]
    pieces += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)] if byte_fallback else []
    pieces += [(letter, -3.0 - place / 100) for place, letter in enumerate(LETTERS)]
    made = Tokenizer(models.Unigram(pieces, 2, byte_fallback))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    return made


def word_level(specials: list[str]) -> Tokenizer:
    words = {word: number for number, word in enumerate([*specials, "[UNK]", "a", "b"])}
    made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return made


def word_piece() -> Tokenizer:
    pieces = ["[UNK]", "</s>", "<pad>", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    made = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return made


def merging(special: str = "hello", *, ignore_merges: bool = False) -> Tokenizer:
    """A byte-level model whose merges make the special token, and longer pieces of it."""
    pieces = [special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges = [] if ignore_merges else [(special[:n], special[n]) for n in range(1, len(special))] + [(special, "s")]
    pieces += [left + right for left, right in merges if left + right != special]
    made = Tokenizer(models.BPE({piece: n for n, piece in enumerate(pieces)}, merges, ignore_merges=ignore_merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    return made


NORMALIZERS = [None, normalizers.NFKC(), normalizers.Lowercase(), normalizers.BertNormalizer()]
MODELS = {
    "unigram": (unigram(), ["<pad>", "</s>", "<unk>", "<extra>"]),
    "unigram with bytes": (unigram(byte_fallback=True), ["<pad>", "</s>", "<unk>", "<extra>"]),
    "wordlevel": (word_level(["</s>", "<pad>"]), ["</s>", "<pad>", "[UNK]"]),
    "wordpiece": (word_piece(), ["</s>", "<pad>", "[UNK]"]),
    "bpe": (merging(), ["hello"]),
    "bpe that looks words up": (merging(ignore_merges=True), ["hello"]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_no_text_has_the_id_of_a_special_token(tmp_path: Path, name: str, normalizer: Any) -> None:
    """A page about tokenizers would end in its middle, and so would one of full-width or capital letters that the
    normalizer maps onto the token."""
    plain, specials = MODELS[name]
    made = Tokenizer.from_str(plain.to_str())
    if normalizer is not None:
        made.normalizer = normalizer
    made.add_special_tokens(specials)
    encoder = loaded(tmp_path, made, specials[0])
    assert encoder.eot_id in encoder.specials
    assert set(encoder.specials.values()) == set(specials) - {"<unk>", "[UNK]"}
    texts = [text for special in specials for text in spellings(special)]
    for encoded in (encoder.encode(texts), encoder.encode_reference(texts)):
        assert not encoder.specials.keys() & set(encoded.ids.tolist())
    check_special(encoder)


def test_ids_of_other_text_are_those_of_the_file(tmp_path: Path) -> None:
    """Making a piece unreachable must not renumber the others, nor the tokens added after it."""
    made = unigram()
    made.add_special_tokens(["</s>", "<extra>"])
    made.add_tokens(["|||MAIL|||", AddedToken("|||IP|||", normalized=False)])
    made.encode_special_tokens = True
    encoder = loaded(tmp_path, made)
    texts = ["a bad cab", "|||MAIL|||", "x|||IP||| 1", "\u4e2d", "s/s> <s", ""]
    encoded = encoder.encode(texts)
    assert encoded.ids.tolist() == [
        number for text in texts for number in made.encode(text, add_special_tokens=False).ids
    ]
    assert made.token_to_id("|||IP|||") in encoded.ids.tolist()
    assert encoder.vocab_size == made.get_vocab_size()
    assert encoder.decode(encoder.encode(["a </s> b"]).ids) == "a </s> b"


def test_pieces_made_of_a_special_token_are_spelled_by_smaller_ones(tmp_path: Path) -> None:
    made = merging()
    made.add_special_tokens(["hello"])
    ids = loaded(tmp_path, made, "hello").encode(["hello", "hellos", "hell"]).ids.tolist()
    hell = made.token_to_id("hell")
    assert ids == [hell, made.token_to_id("o"), hell, made.token_to_id("o"), made.token_to_id("s"), hell]


@pytest.mark.parametrize("flags", [{}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"normalized": True}])
def test_eos_that_the_file_adds_as_an_ordinary_token_is_text_as_well(tmp_path: Path, flags: dict[str, bool]) -> None:
    """Without ``special`` the library looks for it in every text, whatever it is asked for."""
    document = json.loads(byte_tokenizer(tmp_path / "bytes.json").read_text())
    document["added_tokens"][0] |= {"special": False, **flags}
    encoder = loaded(tmp_path / "x", document)
    assert encoder.eot_id == 256
    assert encoder.encode(["a <|endoftext|> b"]).ids.size == len("a <|endoftext|> b")
    check_special(encoder)


def test_eos_without_any_flag_is_known_by_its_name(tmp_path: Path) -> None:
    encoder = loaded(tmp_path, word_level(["</s>"]))
    assert encoder.encode(["a </s> b"]).ids.tolist() == [2, encoder.unk_id, 3]


def test_a_tokenizer_without_such_a_way_is_encoded_by_its_own_file(tmp_path: Path) -> None:
    """It would be loaded twice, for nothing."""
    document = json.loads(byte_tokenizer(tmp_path / "bytes.json").read_text())
    assert as_text(document, {"<|endoftext|>"}) is document


def test_merges_in_either_form_are_understood() -> None:
    """Files from before 2024 have them as one text."""
    document = json.loads(merging().to_str())
    old = [" ".join(merge) for merge in document["model"]["merges"]]
    found = as_text({**document, "model": {**document["model"], "merges": old}}, {"hello"})["model"]["merges"]
    assert [merge.split(" ") for merge in found] == as_text(document, {"hello"})["model"]["merges"]
    assert len(found) == len(old) - 2
