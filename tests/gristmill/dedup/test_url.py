"""Documents of one address."""

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from pairing import copies
from texts import documents

from gristmill.dedup.url import Url, normalised
from gristmill.errors import ConfigError

SAME = [
    "http://example.org/a/b?q=1",
    "HTTP://Example.ORG/a/b?q=1",
    "http://example.org:80/a/b?q=1",
    "http://example.org:/a/b/?q=1#part",
    "  http://example.org/a/b//?q=1#\n",
]
OTHERS = [
    "https://example.org/a/b?q=1",
    "http://example.org/a/B?q=1",
    "http://example.org:8080/a/b?q=1",
    "http://example.org:443/a/b?q=1",
    "http://user@example.org/a/b?q=1",
    "http://example.org/a/b?q=1/",
    "http://example.org/a/b?Q=1",
    "http://example.org/a/b",
    "http://example.org",
    "example.org/a/b?q=1",
]


def batch(urls: list[str | None]) -> pa.RecordBatch:
    return documents([f"text {place}" for place in range(len(urls))], url=urls)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://Example.org:443/", "https://example.org"),
        ("ftp://h:21/x", "ftp://h/x"),
        ("https://h:80/x", "https://h:80/x"),
        ("http://User:Pass@Host/", "http://User:Pass@host"),
        ("http://[2001:DB8::1]:80/x", "http://[2001:db8::1]/x"),
        ("http://h/x?u=http://A:80/#f", "http://h/x?u=http://A:80/"),
        ("http://h?", "http://h?"),
        ("http://h/a%2Fb/%41", "http://h/a%2Fb/%41"),
        ("http://h/line\nbreak#x\ny", "http://h/line\nbreak"),
        ("http://h:80x/", "http://h:80x/"),
        ("mailto:Some@Where#x", "mailto:Some@Where#x"),
        ("//Host/x/", "//Host/x/"),
        (" \t\n", ""),
        ("", ""),
    ],
)
def test_normal_form(url: str, expected: str) -> None:
    assert normalised(url) == expected


@given(st.text(st.sampled_from("aA:/?#@[]%80. \n+"), max_size=20), st.sampled_from(["", "http://", "HTTPS://h:443/"]))
def test_the_normal_form_is_its_own(rest: str, start: str) -> None:
    """A form that changed when taken again would tell apart what earlier data had as equal."""
    once = normalised(start + rest)
    assert normalised(once) == once


def test_spellings_of_one_address_are_copies_and_no_others() -> None:
    found = copies(Url(), batch([*SAME, *OTHERS]))
    count = len(SAME)
    assert found == {(first, second) for second in range(count) for first in range(second)}


def test_documents_without_a_url_repeat_none() -> None:
    """All pages of a source without addresses would be one page."""
    signed = Url().sign(batch([None, "", "  ", "http://a/", None]))
    assert signed.valid.tolist() == [False, False, False, True, False]


def test_the_arrays_are_as_the_contract_says() -> None:
    for urls in (["http://a/", None], []):
        signed = Url().sign(batch(urls))
        assert (signed.bands.dtype, signed.bands.shape) == (np.uint64, (len(urls), Url().band_count()))
        dtype = Url().check_dtype()
        assert (signed.check.dtype, signed.check.shape) == (dtype.base, (len(urls), *dtype.shape))
        assert signed.valid.dtype == bool
    expected = xxhash.xxh3_128_intdigest(b"http://a")
    signed = Url().sign(batch(["http://a/"]))
    assert (int(signed.bands[0, 0]) << 64) | int(signed.check[0, 0]) == expected


def test_equal_first_halves_alone_are_no_copies() -> None:
    """Among 10**10 addresses two share 64 bits of hash by chance."""
    first, second = np.array([[1], [2]], np.uint64), np.array([[1], [3]], np.uint64)
    assert Url().confirmed(first, second).tolist() == [True, False]


def test_another_column_may_hold_the_url() -> None:
    found = copies(
        Url(column="page"), documents(["a", "b"], url=["http://a", "http://b"], page=["http://x", "http://x/"])
    )
    assert found == {(0, 1)}


@pytest.mark.parametrize(("further", "listed"), [({"link": ["x"], "date": ["y"]}, "link, date"), ({}, "none")])
def test_a_missing_column_is_named_with_those_there_are(further: dict[str, list[str | None]], listed: str) -> None:
    with pytest.raises(ConfigError, match=f"^url: no column 'url'; beside the text the documents carry: {listed}$"):
        Url().sign(documents(["text"], **further))
