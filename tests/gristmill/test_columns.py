"""Bytes of Arrow columns, with nothing between the column and the hash."""

import pyarrow as pa
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from gristmill.columns import each, hashes, strings, utf8

texts_in_a_column = st.lists(st.text(max_size=20), max_size=12)


@given(texts_in_a_column, st.integers(0, 12), st.integers(0, 12), st.integers(0, 2**64 - 1))
def test_a_slice_has_the_bytes_of_its_own_texts(texts: list[str], first: int, count: int, seed: int) -> None:
    """Batches are slices of larger ones: what forgot where its slice starts would hash another document's text."""
    part = strings(texts).slice(min(first, len(texts)), count)
    encoded = [text.as_py().encode() for text in part]
    offsets, data = utf8(part)
    assert bytes(data) == b"".join(encoded)
    assert [bytes(text) for text in each(part)] == encoded
    assert offsets.tolist() == [sum(map(len, encoded[:place])) for place in range(len(encoded) + 1)]
    assert hashes(part, seed).tolist() == [xxhash.xxh3_64_intdigest(text, seed) for text in encoded]


def test_missing_texts_have_no_bytes() -> None:
    """Arrow may leave the data buffer out where no text has a byte."""
    bare = pa.nulls(2, pa.string())
    assert [bytes(text) for text in each(bare)] == [b"", b""]
    assert hashes(bare).tolist() == [xxhash.xxh3_64_intdigest(b"")] * 2
