import unicodedata

from data import odd_texts
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, real_texts, strings

from gristmill.cleaning.control import Control


def slow(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(char for char in text if char in "\t\n" or unicodedata.category(char) != "Cc")


def rewrite(*texts: str) -> list[str]:
    return Control().rewrite(strings(texts)).to_pylist()


def test_real_and_odd_documents_match_the_slow_rule() -> None:
    """A control character left in, or a neighbour's byte taken with it, corrupts text silently."""
    texts = [*real_texts(), *odd_texts()]
    wanted = [slow(text) for text in texts]
    assert rewrite(*texts) == wanted
    assert wanted != texts


@given(st.lists(ANY_TEXT))
def test_any_text_matches_the_slow_rule_and_twice_is_once(texts: list[str]) -> None:
    once = rewrite(*texts)
    assert once == [slow(text) for text in texts]
    assert rewrite(*once) == once


def test_every_control_character_goes_and_no_other() -> None:
    texts = [chr(code) for code in range(0x250)]
    assert rewrite(*texts) == [slow(text) for text in texts]


def test_a_line_end_split_over_two_documents_is_two_line_ends() -> None:
    """CR at the end of one document and LF at the start of the next are neighbours in the buffer only."""
    assert rewrite("one\r", "\ntwo", "", "\n") == ["one\n", "\ntwo", "", "\n"]


def test_a_slice_of_a_longer_array_is_read_at_its_offset() -> None:
    sliced = strings(["\x00skip", "a\x00b", "\r\n", "tail\x00"]).slice(1, 2)
    assert Control().rewrite(sliced).to_pylist() == ["ab", "\n"]
