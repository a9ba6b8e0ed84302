"""Paragraphs as byte ranges and keys, against ``str.split``."""

import re
from itertools import accumulate

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, real_texts, strings

from gristmill.dedup.base import Spans
from gristmill.dedup.paragraph import Paragraph
from gristmill.plugins import load

BLANKS = b" \t\n\v\f\r"
Found = tuple[int, int, int, int]
PARTS = ["a", "bc", "\n", "\n\n", "\r\n", "\r", " ", "-", "--", "\u4e2d", ""]
LINES = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


def made(separator: str = "\n\n", min_bytes: int = 1) -> Paragraph:
    found = load("dedup", {"kind": "paragraph", "separator": separator, "min_bytes": min_bytes})
    assert isinstance(found, Paragraph)
    return found


def slow(texts: list[str], separator: str, min_bytes: int) -> list[Found]:
    """(document, start, stop, key) of every paragraph; the separator that ends one is removed with it. Line ends are
    counted one by one, so that each kind takes its own bytes of the text."""
    found = []
    for number, text in enumerate(texts):
        units = re.findall(r"\r\n|.", text, re.DOTALL)
        plain = "".join("\n" if unit in ("\r\n", "\r") else unit for unit in units)
        edges = [0, *accumulate(len(unit.encode()) for unit in units)]
        start = 0
        pieces = plain.split(separator)
        for place, piece in enumerate(pieces):
            stop = start + len(piece) + (len(separator) if place + 1 < len(pieces) else 0)
            core = piece.encode().strip(BLANKS)
            if len(core) >= min_bytes:
                found.append((number, edges[start], edges[stop], xxhash.xxh3_128_intdigest(core)))
            start = stop
    return found


def rows(spans: Spans) -> list[Found]:
    keys = [(high << 64) | low for high, low in spans.keys.tolist()]
    return list(zip(spans.document.tolist(), spans.start.tolist(), spans.stop.tolist(), keys, strict=True))


@given(
    st.lists(LINES | ANY_TEXT, max_size=8),
    st.sampled_from(["\n\n", "\n", "--", "\u4e2d"]),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(0, 8),
)
def test_any_slice_is_cut_as_by_split(texts: list[str], separator: str, min_bytes: int, first: int, count: int) -> None:
    """Ranges that are off by a byte cut characters in two; a neighbour's line feed must not end a paragraph."""
    found = made(separator, min_bytes).spans(strings(texts).slice(min(first, len(texts)), count))
    assert rows(found) == slow(texts[first : first + count], separator, min_bytes)


def test_real_documents() -> None:
    texts = list(real_texts(200))
    wanted = slow(texts, "\n\n", 100)
    assert len(wanted) > 200
    assert rows(load("dedup", {"kind": "paragraph"}).spans(strings(texts))) == wanted  # type: ignore[attr-defined]


def test_the_last_paragraph_equals_one_that_a_separator_ends() -> None:
    """Otherwise a copied ending would stay in every document."""
    found = made("---").spans(strings(["same text---other", "other---same text", " same text \n"]))
    keys = found.keys[:, 0].tolist()
    assert keys[0] == keys[3] == keys[4]
    assert len(set(keys)) == 2


def test_shorter_paragraphs_are_left_alone() -> None:
    """A heading that stands in every document is no copy; bytes are counted without outer white space."""
    text = "a" * 99 + " " * 9 + "\n\n" + "b" * 100 + "\n\n" + "\u4e2d" * 33
    assert [row[:3] for row in rows(made(min_bytes=100).spans(strings([text])))] == [(0, 110, 212)]


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["\n\n", "\n\n\n\n"]])
def test_nothing_to_compare(texts: list[str]) -> None:
    assert rows(made().spans(strings(texts))) == []


def test_of_programs_the_indentation_of_the_first_line_counts() -> None:
    """A block at another depth is not the same program, though it is the same words."""
    texts = strings(["x\n\n  a()\n  b()", "\n\na()\n  b()", "\n\n\n  a()\n  b()\n"])
    for programs, number in ((False, 1), (True, 2)):
        keys = made(min_bytes=2).spans(texts, programs=programs).keys[:, 0].tolist()
        assert len(keys) == 3
        assert len(set(keys)) == number
