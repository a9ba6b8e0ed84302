"""Runs of sentences as byte ranges and keys, against a walk over characters."""

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, real_texts, strings

from gristmill.dedup.base import Spans
from gristmill.dedup.sentence import Sentence
from gristmill.plugins import load
from gristmill.text.sentence_ends import CLOSERS, ENDS, SPACED

WIDE = set(ENDS) - set(SPACED)
BLANKS = b" \t\n\v\f\r"
Found = tuple[int, int, int, int]
MARKS = [
    "a",
    "B c",
    ".",
    "!",
    "? ",
    '."',
    ".) ",
    " ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\u3002",
    "\uff01",
    "\uff1f",
    "\u4e2d",
    "\u0964",
    "\u0f0d",
    "\u1362",
    "\u300d",
    "\U00010a56",
    "",
]
PROSE = st.lists(st.sampled_from(MARKS), max_size=16).map("".join)


def made(sentences: int = 1, min_bytes: int = 1) -> Sentence:
    found = load("dedup", {"kind": "sentence", "sentences": sentences, "min_bytes": min_bytes})
    assert isinstance(found, Sentence)
    return found


def sentences_of(text: str) -> list[str]:
    """Character by character: a mark with what closes it and white space, or a line feed, ends a sentence."""
    found, start, place = [], 0, 0
    while place < len(text):
        stop = past_end(text, place)
        if stop > place and text[place] in WIDE:
            while stop < len(text) and text[stop] in WIDE:
                stop = past_end(text, stop)
        if stop > place:
            found.append(text[start:stop])
            start = stop
        place = max(stop, place + 1)
    return [*found, text[start:]] if start < len(text) else found


def past_end(text: str, place: int) -> int:
    """Where the sentence that ends at ``place`` stops, white space included; ``place`` where none does."""
    if text[place] not in ENDS + "\r\n":
        return place
    closed = place + 1
    while text[place] not in "\r\n" and closed < len(text) and text[closed] in CLOSERS:
        closed += 1
    stop = closed
    while stop < len(text) and text[stop] in " \t\r\n":
        stop += 1
    return place if text[place] in SPACED and stop == closed else stop


def slow(texts: list[str], sentences: int, min_bytes: int) -> list[Found]:
    found = []
    for number, text in enumerate(texts):
        parts = [part.encode() for part in sentences_of(text)]
        edges = [sum(map(len, parts[:place])) for place in range(len(parts) + 1)]
        for place in range(len(parts) - sentences + 1):
            core = (
                b"".join(parts[place : place + sentences]).replace(b"\r\n", b"\n").replace(b"\r", b"\n").strip(BLANKS)
            )
            if len(core) >= min_bytes:
                found.append((number, edges[place], edges[place + sentences], xxhash.xxh3_128_intdigest(core)))
    return found


def rows(spans: Spans) -> list[Found]:
    keys = [(high << 64) | low for high, low in spans.keys.tolist()]
    return list(zip(spans.document.tolist(), spans.start.tolist(), spans.stop.tolist(), keys, strict=True))


@given(
    st.lists(PROSE | ANY_TEXT, max_size=8), st.integers(1, 4), st.integers(1, 5), st.integers(0, 4), st.integers(0, 8)
)
def test_any_slice_gives_the_runs_of_a_slow_walk(
    texts: list[str], sentences: int, min_bytes: int, first: int, count: int
) -> None:
    """Runs overlap and end at Western and Chinese marks; none may reach into the next document of the batch."""
    found = made(sentences, min_bytes).spans(strings(texts).slice(min(first, len(texts)), count))
    assert rows(found) == slow(texts[first : first + count], sentences, min_bytes)


def test_real_documents() -> None:
    texts = list(real_texts(100))
    wanted = slow(texts, 3, 100)
    assert len(wanted) > 1000
    assert rows(made(3, 100).spans(strings(texts))) == wanted


def test_sentences_that_people_would_see() -> None:
    """An abbreviation within a number is no end; a quotation mark belongs to the sentence that it closes."""
    text = 'He paid 3.50 in all. "Too much!" she said.\n\nNext line'
    assert sentences_of(text) == ["He paid 3.50 in all. ", '"Too much!" ', "she said.\n\n", "Next line"]
    found = made().spans(strings([text]))
    data = text.encode()
    pieces = [data[start:stop].decode() for _, start, stop, _ in rows(found)]
    assert pieces == sentences_of(text)


def test_blank_lines_are_no_sentences() -> None:
    """In Chinese each line ends with its mark: a line feed counted as a sentence would make three of one."""
    text = "\u4e2d\u6587\u3002\n\n\u6587\u4e2d\uff01\n\u4e2d\uff1f"
    assert len(rows(made(3).spans(strings([text])))) == 1
    assert rows(made(4).spans(strings([text]))) == []


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["\n \n", "  "]])
def test_nothing_to_compare(texts: list[str]) -> None:
    assert rows(made().spans(strings(texts))) == []


def test_other_scripts_have_sentences() -> None:
    """A copied Hindi or Armenian passage stayed: its paragraphs counted as one sentence each."""
    for mark in "\u0964\u0589\u06d4\u1362\u104b\u0f0d\u17d4\u1803":
        assert len(rows(made(2).spans(strings([f"\u0915{mark} \u0916{mark}\u0917"])))) == 2
