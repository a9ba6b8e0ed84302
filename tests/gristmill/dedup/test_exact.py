"""Texts equal up to white space, against a regular expression."""

import re

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from data import odd_texts
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, real_texts, strings

from gristmill.dedup.exact import Exact, normalised

BLANKS = st.text(st.sampled_from(" \t\n\v\f\r\x00\x1c\x85\u00a0\u3000ab"), max_size=12)
TEXTS = st.lists(BLANKS | ANY_TEXT, max_size=12)


def slow(text: str) -> bytes:
    return re.sub(rb"[\t\n\v\f\r ]+", b" ", text.encode()).strip(b" ")


def pieces(texts: pa.StringArray) -> list[bytes]:
    data, starts, stops = normalised(texts)
    return [data[start:stop].tobytes() for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]


@given(TEXTS, st.integers(0, 12), st.integers(0, 12))
def test_any_slice_is_squeezed_as_by_the_expression(texts: list[str], first: int, count: int) -> None:
    """Batches come as slices of larger ones: an offset that is forgotten signs the neighbours' text."""
    found = strings(texts).slice(min(first, len(texts)), count)
    assert pieces(found) == [slow(text) for text in texts[first : first + count]]


def batch(texts: pa.StringArray) -> pa.RecordBatch:
    return pa.record_batch({"text": texts})


def values(texts: pa.StringArray) -> list[int]:
    found = Exact().sign(batch(texts))
    assert found.bands.dtype == np.uint64
    assert found.check.shape == (len(texts), *Exact().check_dtype().shape)
    assert found.valid.tolist() == [True] * len(texts)
    return [
        (high << 64) | low for high, low in zip(found.bands[:, 0].tolist(), found.check[:, 0].tolist(), strict=True)
    ]


@given(TEXTS, st.integers(0, 6))
def test_a_signature_depends_on_its_own_text_alone(texts: list[str], first: int) -> None:
    """Otherwise the same document in two shards would not be seen to repeat."""
    array = strings(texts).slice(min(first, len(texts)))
    assert values(array) == [xxhash.xxh3_128_intdigest(slow(text)) for text in texts[first:]]


def test_real_and_odd_documents() -> None:
    texts = [*real_texts(), *odd_texts()]
    assert len(texts) > 1000
    assert pieces(strings(texts)) == [slow(text) for text in texts]


def test_only_white_space_is_forgiven() -> None:
    """Case, punctuation and other spaces make another document."""
    same = ["a b", " a  b\n", "\ta\r\n\x0bb\x0c", "a\nb"]
    other = ["ab", "A b", "a b.", "a\u00a0b", "a\u2003b", "a\x1cb", "a\x00b", "", "a b a b"]
    found = values(strings([*same, *other]))
    assert len(set(found[: len(same)])) == 1
    assert len(set(found)) == 1 + len(other)


def test_a_candidate_with_another_second_half_is_no_copy() -> None:
    """Half of the hash alone would call two of a few billion documents equal by chance."""
    first = np.array([[1], [2]], np.uint64)
    assert Exact().confirmed(first, np.array([[1], [3]], np.uint64)).tolist() == [True, False]


@pytest.mark.parametrize("array", [strings([]), strings(["a", "b"]).slice(1, 0), pa.nulls(0, pa.string())])
def test_an_empty_batch_has_no_signatures(array: pa.StringArray) -> None:
    """Arrow leaves the buffers of an empty array out, or hands on those of the array it was cut from."""
    assert values(array) == []


SAME = ["if a:\n  b()\nc()", "\n\nif a:\r\n  b()\r\nc()\r\n", "if  a: \t\n\n  b()\n \t \nc()\n\n", "if a:\r  b()\rc()"]
OTHER = ["if a:\n  b()\n  c()", "if a:\n\tb()\nc()", " if a:\n  b()\nc()", "if a:\n b()\nc()", "if a: b()\nc()"]


def test_a_program_with_other_indentation_is_another_document() -> None:
    """Two programs that do different things were one; line ends, empty lines and blanks at line ends are no matter."""
    texts = strings([*SAME, *OTHER])
    found = Exact().sign(batch(texts), np.ones(len(texts), bool)).bands[:, 0].tolist()
    assert len(set(found[: len(SAME)])) == 1
    assert len(set(found)) == 1 + len(OTHER)
    prose = Exact().sign(batch(texts), np.zeros(len(texts), bool)).bands[:, 0].tolist()
    assert prose == Exact().sign(batch(texts)).bands[:, 0].tolist()
    assert len(set(prose)) == 1
    mixed = Exact().sign(batch(texts), np.arange(len(texts)) % 2 == 0).bands[:, 0].tolist()
    assert mixed == [(prose if place % 2 else found)[place] for place in range(len(texts))]
