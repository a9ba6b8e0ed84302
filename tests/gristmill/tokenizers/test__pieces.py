"""Long texts have the ids that the whole text has, however they are cut."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import fastokens
import numpy as np
import pytest
from data import GPT2, TOKENIZERS, tokenizer_file
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from gristmill.errors import InputError
from gristmill.tokenizers._hf import flat
from gristmill.tokenizers._pieces import PIECE, Pieces
from gristmill.tokenizers._rules import Rules, rules_of
from gristmill.tokenizers.base import Encoded

SMALL = 1400
"""A piece may end 1,024 characters before: the last 376 are looked at."""

every = pytest.mark.parametrize("name", TOKENIZERS)

ATOMS = [
    *("a", "b", "e", "th", "ing", "A", " the", "1", "12", "345", "'", "'s", "'re", "'ve", "n't", "''"),
    *("!", "!!", "-", "=", "==", "/", "|", "_", " ", "  ", "\t", "\n", "\r", "\r\n", "\n\n", "\x0b", "\x85", "\u2028"),
    *(" " * 24, " " * 25, "a" * 40, "=" * 30),
    *("|||", "|||IP_ADDRESS|||", "<|endoftext|>", "<|", "<|extra_id_0|>"),
    *("\u4e2d", "\u6587", "\u3002", "\uff0c", "\u3000", "\u00a0", "\u2003", "\u0660", "\u00bd", "\x1c", "\x00"),
    *("\u0301", "e\u0301", "\u00e9", "\u0338", "\u1100", "\u1161", "\u11a8", "\uac00", "\u212a", "\u212b", "\u017f"),
    *("\U0001f600", "\U0001f469\u200d", "\u2764\ufe0f", "\u0e01", "\u0e31"),
]
"""What the expressions, the normal form and the added tokens treat in different ways."""

ENDLESS = {
    "word": "".join(chr(97 + place * place % 26) for place in range(9973)),
    "letter": "a",
    "han": "".join(chr(0x4E00 + place * place % 4999) for place in range(9973)),
    "digits": "".join(str(place * place % 7) for place in range(9973)),
    "blanks": " ",
    "line ends": "\n",
    "white": "".join(" \t\n  "[place * place % 5] for place in range(9973)),
    "signs": "=",
    "emoji": "".join(chr(0x1F600 + place * place % 79) for place in range(4999)),
    "joined emoji": "\U0001f469\u200d",
    "base64": "".join(chr(47 + place * place % 73) for place in range(9973) if chr(47 + place * place % 73).isalnum()),
    "special": "<|endoftext|>",
    "added": "|||IP_ADDRESS|||",
    "garbled": "\u00c3\u00c2",
    "prose": "It's 12 o'clock, and all is well.\n  (So they say.) ",
}


@cache
def loaded(name: str) -> tuple[Callable[[list[str]], Encoded], Rules]:
    content = tokenizer_file(name).read_text()
    fast = fastokens.Tokenizer.from_json_str(content)
    rules = rules_of(json.loads(content))
    assert rules is not None
    return lambda texts: flat(fast, texts), rules


@cache
def reference(name: str) -> Tokenizer:
    found = Tokenizer.from_file(str(tokenizer_file(name)))
    found.encode_special_tokens = True
    return found


def in_pieces(name: str, text: str, size: int) -> list[np.ndarray]:
    encode, rules = loaded(name)
    return list(Pieces(encode, rules, size).of(text))


def whole(name: str, text: str) -> np.ndarray:
    return loaded(name)[0]([text]).ids


@every
@settings(max_examples=25)
@given(atoms=st.lists(st.sampled_from(ATOMS), min_size=1, max_size=6), seed=st.integers(0, 2**32))
def test_a_text_of_anything_has_the_ids_of_the_whole(name: str, atoms: list[str], seed: int) -> None:
    """Cut at the wrong place, one document in a thousand would have other ids, and no sample would see it."""
    draw = Random(seed)
    text = "".join(atom * draw.choice([1, 1, 1, 1, 60]) for atom in draw.choices(atoms, k=1500))[:5000]
    assert np.array_equal(np.concatenate(in_pieces(name, text, SMALL)), whole(name, text))


@every
@pytest.mark.parametrize("kind", ENDLESS)
def test_endless_texts_are_cut_and_have_the_ids_of_the_whole(name: str, kind: str) -> None:
    """Uncut, such a text takes 50 bytes of memory a byte."""
    size = 1 << 13
    text = "x" + ENDLESS[kind] * (60_000 // len(ENDLESS[kind])) + "y"
    found = in_pieces(name, text, size)
    assert np.array_equal(np.concatenate(found), whole(name, text))
    assert len(found) >= len(text) // size


@every
@pytest.mark.parametrize("kind", ["word", "han", "digits", "white", "emoji", "base64", "added", "prose"])
def test_the_reference_has_the_ids_of_the_pieces(name: str, kind: str) -> None:
    """The fast library could be wrong on long words in the same way, cut or not."""
    text = ENDLESS[kind] * (20_000 // len(ENDLESS[kind]))
    wanted = reference(name).encode(text, add_special_tokens=False).ids
    assert np.concatenate(in_pieces(name, text, 4096)).tolist() == wanted


def test_documents_of_a_batch_stay_apart() -> None:
    encode, rules = loaded("gpt2")
    texts = ["", "short", "long " * 3000, "longer" * 3000, "", "end", "x" * 9000]
    found, wanted = Pieces(encode, rules, 4096).encode(texts), encode(texts)
    assert found.offsets.dtype == np.int64
    assert found.offsets.tolist() == wanted.offsets.tolist()
    assert np.array_equal(found.ids, wanted.ids)


def test_without_rules_a_text_is_one_piece() -> None:
    encode, _ = loaded("gpt2")
    assert len(list(Pieces(encode, None, 4096).of("long " * 3000))) == 1


def test_ids_that_depend_on_a_far_end_are_refused() -> None:
    """Wrong ids that nobody sees are worse than a document that is named."""

    def encode(texts: list[str]) -> Encoded:
        """The first id of a text says how long it is, if that is much; all others are letters."""
        rows = [np.frombuffer(text.encode(), np.uint8).astype(np.uint32) for text in texts]
        for row in rows:
            row[0] = row[0] if len(row) < 3000 else len(row)
        return Encoded(ids=np.concatenate(rows), offsets=np.cumsum([0, *map(len, rows)]))

    with pytest.raises(InputError, match=r"at 'aaaa.*lower limits\.document_chars") as caught:
        list(Pieces(encode, loaded("gpt2")[1], 4000).of("a" * 20_000))
    assert caught.value.reason == "bad_ids"


MEMORY = r"""
import json, re, sys
from pathlib import Path
from gristmill.tokenizers.huggingface import HuggingFace
def peak():  # ru_maxrss begins with the parent's
    return int(re.search(r"VmHWM:\s*([0-9]+) kB", open("/proc/self/status").read())[1]) << 10
kind = HuggingFace(path=sys.argv[1])
kind.prepare([], Path(sys.argv[2]))
encoder = kind.load(Path(sys.argv[2]))
text = "".join(chr(97 + place * place % 26) for place in range(9973)) * 420
before = peak()
encoder.encode([text])
print(len(text), peak() - before)
"""


def test_a_word_of_megabytes_takes_the_memory_of_its_ids(tmp_path: Path) -> None:
    """Merged as one, a word of 30 MB takes 1.5 GB, and the worker is killed."""
    command = [sys.executable, "-c", MEMORY, str(GPT2), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    characters, grown = map(int, re.findall(r"\d+", done.stdout))
    assert characters > 4_000_000
    assert grown < 12 * characters
    assert characters > 50 * PIECE
