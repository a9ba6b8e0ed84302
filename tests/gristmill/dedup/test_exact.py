"""Texts equal up to white space, against a regular expression."""

import re

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, odd_texts, real_texts, strings

from gristmill.dedup.base import SIGNATURE
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


@given(TEXTS, st.integers(0, 6))
def test_a_signature_depends_on_its_own_text_alone(texts: list[str], first: int) -> None:
    """Otherwise the same document in two shards would not be seen to repeat."""
    array = strings(texts).slice(min(first, len(texts)))
    found = Exact().signatures(array)
    assert found.dtype == SIGNATURE
    assert found["row"].tolist() == list(range(len(array)))
    values = [(high << 64) | low for high, low in zip(found["high"].tolist(), found["low"].tolist(), strict=True)]
    assert values == [xxhash.xxh3_128_intdigest(slow(text)) for text in texts[first:]]


def test_real_and_odd_documents() -> None:
    texts = [*real_texts(), *odd_texts()]
    assert len(texts) > 1000
    assert pieces(strings(texts)) == [slow(text) for text in texts]


def test_only_white_space_is_forgiven() -> None:
    """Case, punctuation and other spaces make another document."""
    same = ["a b", " a  b\n", "\ta\r\n\x0bb\x0c", "a\nb"]
    other = ["ab", "A b", "a b.", "a\u00a0b", "a\u2003b", "a\x1cb", "a\x00b", "", "a b a b"]
    signatures = Exact().signatures(strings([*same, *other]))
    assert len(np.unique(signatures[["high", "low"]][: len(same)])) == 1
    assert len(np.unique(signatures[["high", "low"]])) == 1 + len(other)


@pytest.mark.parametrize("array", [strings([]), strings(["a", "b"]).slice(1, 0), pa.nulls(0, pa.string())])
def test_an_empty_batch_has_no_signatures(array: pa.StringArray) -> None:
    """Arrow leaves the buffers of an empty array out, or hands on those of the array it was cut from."""
    assert Exact().signatures(array).shape == (0,)
