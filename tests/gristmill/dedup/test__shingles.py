"""Shingles of whole batches, against the same definition one document and one word at a time."""

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from data import odd_texts
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, real_texts, sample, strings

from gristmill.dedup import _shingles
from gristmill.dedup._shingles import pieces, shingles, unspaced

BREAK = re.compile(
    r"[\x00-/:-@\[-`{-\u00bf\u2000-\u206f\u3000-\u303f\ufeff\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u107f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
NASTY = (
    "a|B|word|Of the| |\t|\n|\x00|.|'|_|can\u2019t|\u2014|\u00a0|\u00ad|\u00b5|\u00c0|\u00c3|\u07ff|\u0800|\u2070"
    "|\u1fff|\u2e80|\u4e2d|\u6587\u5b57|\u3002|\u3005|\u3042|\uff0c|\uff21|\uff66|\ufeff|\ufffd|\ud7ff|\U00010000|\U00020000"
    "|\u0e01\u0e33|\u1000|\u1780|\uac00|eightlen|ninechars|sixteen-and-sixteen-letters|"
    + "x" * 17
    + "|"
    + "\u0436" * 70
).split("|")
TEXT = st.lists(st.sampled_from(NASTY), max_size=60).map("".join) | ANY_TEXT
TEXTS = st.lists(TEXT, max_size=8)
UNITS = st.sampled_from(["auto", "words", "characters"])
MASK = (1 << 64) - 1


def fold(text: str) -> str:
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


def is_single(text: str, unit: str) -> bool:
    enough = len(UNSPACED.findall(text)) >= max(0.3 * len(text), 1)
    return enough if unit == "auto" else unit == "characters"


def slow(text: str, ngram: int, unit: str) -> list[bytes]:
    """The spelled shingles of one text."""
    words = [word for word in BREAK.split(fold(text)) if word]
    single = is_single(text, unit)
    tokens = list("".join(words)) if single else words
    glue = "" if single else " "
    return [glue.join(tokens[place : place + ngram]).encode() for place in range(len(tokens) - ngram + 1)]


def mixed(value: int) -> int:
    for factor in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03):
        value = value * factor & MASK
        value ^= value >> 32
    return value


def slow_token(token: bytes) -> int:
    found = 0
    for place in range(0, min(len(token), 64), 8):
        found = mixed(found ^ int.from_bytes(token[place : place + 8].rjust(8, b"\0"), "little"))
    return xxhash.xxh3_64_intdigest(token[64:], seed=found) if len(token) > 64 else found


def slow_hash(tokens: list[bytes]) -> int:
    value = 0
    for token in tokens:
        value = value * 0x9E3779B97F4A7C15 + slow_token(token) & MASK
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value ^= value >> 33
        value = value * factor & MASK
    return value ^ value >> 33


def slow_hashes(text: str, ngram: int, unit: str) -> list[int]:
    if is_single(text, unit):
        return [slow_hash([c.encode() for c in shingle.decode()]) for shingle in slow(text, ngram, unit)]
    return [slow_hash(shingle.split(b" ")) for shingle in slow(text, ngram, unit)]


def spelled(texts: pa.StringArray, ngram: int, unit: str) -> list[list[bytes]]:
    """The spelled shingles of each text, put together from the pieces."""
    found: list[list[bytes]] = [[] for _ in range(len(texts))]
    for piece in pieces(texts, ngram, unit):
        rest = [bytes(shingle) for shingle in piece.spelled()]
        for document, count in zip(piece.documents.tolist(), piece.counts.tolist(), strict=True):
            found[document] += rest[:count]
            rest = rest[count:]
        assert rest == []
    return found


def per_text(texts: pa.StringArray, ngram: int, unit: str) -> list[list[int]]:
    hashes, offsets = shingles(texts, ngram, unit)
    assert (hashes.dtype, offsets.dtype) == (np.uint64, np.int64)
    assert (len(offsets), offsets[-1]) == (len(texts) + 1, len(hashes))
    return [part.tolist() for part in np.split(hashes, offsets[1:-1])][: len(texts)]


@given(TEXTS, st.integers(1, 7) | st.just(24), UNITS, st.sampled_from([1, 7, 64, 1 << 18]))
def test_shingles_are_those_of_the_definition(texts: list[str], ngram: int, unit: str, piece: int) -> None:
    """However the batch is cut into pieces: words cut at an edge, or neighbours run together, hide copies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_shingles, "PIECE", piece)
        assert spelled(strings(texts), ngram, unit) == [slow(text, ngram, unit) for text in texts]
        assert per_text(strings(texts), ngram, unit) == [slow_hashes(text, ngram, unit) for text in texts]


@given(TEXTS, st.integers(0, 8), st.integers(0, 8))
def test_a_slice_has_its_own_shingles(texts: list[str], first: int, count: int) -> None:
    """Batches come as slices of larger ones: an offset that is forgotten signs the neighbours' text."""
    part = strings(texts).slice(min(first, len(texts)), count)
    assert per_text(part, 2, "auto") == [slow_hashes(text, 2, "auto") for text in texts[first : first + count]]


@pytest.mark.parametrize("unit", ["auto", "words"])
def test_real_and_odd_documents(unit: str) -> None:
    texts = sample(3_000)
    assert len(texts) > 300
    assert spelled(strings(texts), 5, unit) == [slow(text, 5, unit) for text in texts]


def test_documents_longer_than_a_piece() -> None:
    """They are read part by part; one made of a single word, or of none, must not go round for ever."""
    real = "\n".join(real_texts(900))
    texts = [real[:700_000], "\u4e2d\u6587\u5b57" * 60_000, "x" * 600_000, " " * 600_000, "a b c d e " + "y" * 600_000]
    assert min(len(text.encode()) for text in texts) > 2 * _shingles.PIECE
    found = spelled(strings(texts), 5, "auto")
    assert found == [slow(text, 5, "auto") for text in texts]
    assert [len(shingles) > 10_000 for shingles in found] == [True, True, False, False, False]


@given(st.lists(TEXT, max_size=8))
def test_the_unit_follows_the_share_of_scripts_without_spaces(texts: list[str]) -> None:
    assert unspaced(strings(texts)).tolist() == [is_single(text, "auto") for text in texts]


@pytest.mark.parametrize(
    ("text", "single"),
    [
        ("plain English text", False),
        ("\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8", False),  # Korean has spaces
        ("\u0440\u0443\u0441\u0441\u043a\u0438\u0439", False),
        ("\u4e2d\u6587abcdefg", False),
        ("\u4e2d\u6587\u5b57abcdefg", True),
        ("\u3072\u3089\u304c\u306a", True),
        ("\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", True),
        ("\u0ea5\u0eb2\u0ea7", True),
        ("\u1781\u17d2\u1798\u17c2\u179a", True),
        ("\u1019\u103c\u1014\u103a\u1019\u102c", True),
        ("", False),
    ],
)
def test_units_by_language(text: str, single: bool) -> None:
    """A Chinese or Thai document as words is one word a sentence: no near copy of it would be found."""
    assert unspaced(strings([text])).tolist() == [single]


def test_case_and_punctuation_do_not_count() -> None:
    same = [
        "It's the END, my friend.",
        "it s the end my friend",
        "It\u2019s \u201cthe end\u201d\u2014my\u00a0friend\u2026",
    ]
    hashes = per_text(strings(same), 3, "words")
    assert hashes[0] == hashes[1] == hashes[2]
    assert len(set(hashes[0])) == 4
    assert hashes[0] != per_text(strings(["it s the end my friends"]), 3, "words")[0]


def test_order_and_borders_of_words_count() -> None:
    """A sum of word hashes that forgot either would take scrambled text for a copy."""
    texts = [
        "a b c",
        "b a c",
        "ab c d",
        "a bc d",
        "c b a",
        "aaaaaaaab c d",
        "aaaaaaaa bc d",
        "a a a",
        "aa a a",
        "aaa a a",
    ]
    hashes, offsets = shingles(strings(texts), 3)
    assert offsets.tolist() == list(range(len(texts) + 1))
    assert len(np.unique(hashes)) == len(texts)


def test_different_shingles_of_real_text_have_different_hashes() -> None:
    """Upper and lower 32 bits alike: the signatures use the upper ones."""
    texts = [*real_texts(150), *odd_texts()]
    known = {shingle for text in texts for shingle in slow(text, 5, "words")}
    hashes = np.unique(shingles(strings(texts), 5, "words")[0])
    assert len(hashes) == len(known) > 50_000
    expected = len(hashes) ** 2 / 2**33
    for half in (hashes >> np.uint64(32), hashes & np.uint64(0xFFFFFFFF)):
        assert len(hashes) - len(np.unique(half)) < expected + 6 * expected**0.5 + 3


@pytest.mark.parametrize("array", [strings([]), strings(["a", "b"]).slice(1, 0), pa.nulls(0, pa.string())])
def test_an_empty_batch(array: pa.StringArray) -> None:
    """Arrow leaves the buffers of an empty array out, or hands on those of the array it was cut from."""
    assert [part.tolist() for part in shingles(array)] == [[], [0]]
    assert unspaced(array).tolist() == []


def test_hashes_are_the_same_in_another_process() -> None:
    """And in the next release: signatures of earlier data are compared with new ones."""
    program = (
        "from gristmill.columns import strings; from gristmill.dedup._shingles import shingles;"
        "print(shingles(strings(['The quick brown fox jumps', 'x' * 100, chr(0x4e2d) * 9]), 3)[0].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    texts = ["The quick brown fox jumps", "x" * 100, "\u4e2d" * 9]
    expected = [value for text in texts for value in slow_hashes(text, 3, "auto")]
    assert done.stdout.strip() == str(expected)
    assert len(expected) == 3 + 0 + 7
