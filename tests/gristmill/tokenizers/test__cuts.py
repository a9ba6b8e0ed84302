"""A cut is made only where both sides are words, or parts of one, whatever is around."""

from typing import get_args

import pytest

from gristmill.tokenizers._cuts import AROUND, Cuts, Kind, Words, kind_of

GPT2 = Words(digits=None, newlines="plain")
DOLMA2 = Words(digits=3, newlines="gathered")
TIKTOKEN = Words(digits=3, newlines="unknown")
FILLED = "ab " * AROUND
"""Nothing of it is near the cut."""


def cut(left: str, right: str, words: Words = GPT2, tokens: tuple[str, ...] = ()) -> str | None:
    """What the cut between ``left`` and ``right`` is in a long text."""
    found = Cuts(FILLED + left + right + FILLED, words, list(tokens)).at(len(FILLED + left), 0)
    assert found is None or found in get_args(Kind)
    return found


@pytest.mark.parametrize("words", [GPT2, DOLMA2, TIKTOKEN])
@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ("a", " b", "between"),
        ("a", "\nb", "between"),
        ("a", "1b", "between"),
        ("1", "ab", "between"),
        ("a", "'s ", "between"),
        ("!", "12 ", "between"),
        ("!", " a", "between"),
        ("aa", "aa", "within"),
        ("!!", "!!", "within"),
        (" ", "a ", None),  # one word
        ("'", "s a", None),
        ("-", "ab", None),
        ("!", "!a", None),  # the last sign may begin the next word
        ("'re", "al", None),  # 're and al, or one word
        ("e", "\u0301a", None),  # one letter in NFC
        ("\u1100", "\u1161a", None),
        ("\u212a", "ab", None),  # another letter in NFC
        ("a", "\u1c89a", None),  # assigned lately: a letter to some libraries only
        ("\u4e2d", "\u6587\u4e2d", "within"),
        ("\u4e2d", "\u3002\u4e2d", "between"),
        ("\U0001f600", "\U0001f600\U0001f600", "within"),
        ("\U0001f469\u200d", "\U0001f469\u200d", "within"),
    ],
)
def test_a_cut_parts_words_or_a_run_of_one_kind(words: Words, left: str, right: str, kind: str | None) -> None:
    assert cut(left, right, words) == kind


def test_digits_are_cut_where_a_group_of_three_ends() -> None:
    """123 456, not 12 345 6: other ids for every number after."""
    assert [cut("1234567"[:n], "1234567"[n:], DOLMA2) for n in range(1, 7)] == [None, None, "between"] * 2
    assert cut("123\u0664\u0665", "456", DOLMA2) is None
    assert cut("12", "34", GPT2) == "within"


def test_groups_are_counted_from_the_last_cut() -> None:
    text = FILLED + "1" * 5000 + FILLED
    cuts = Cuts(text, DOLMA2, [])
    start = len(FILLED) + 30
    assert cuts.at(start + 1500, start) == "between"
    assert cuts.at(start + 1501, start) is None


@pytest.mark.parametrize(
    ("left", "right", "plain", "gathered"),
    [
        ("a   ", "   b", "within", "within"),
        ("a \n", " \nb", "within", "within"),
        ("a \n ", " \nb", "within", None),  # the line end after it makes all of it one word
        ("a\n ", "  b", "within", "within"),
        ("a \n", "\n\nb", "within", "within"),
        ("a!\n", "\n\n b", "within", None),  # the line ends belong to the sign
        ("!", "\n\nb", "between", None),
        ("a \n", "  \u3000", "within", None),  # \u3000 may be followed by a line end
    ],
)
def test_line_ends_end_a_word_of_blanks_where_they_are_gathered(
    left: str, right: str, plain: str, gathered: str | None
) -> None:
    assert cut(left, right, GPT2) == plain
    assert cut(left, right, DOLMA2) == gathered


def test_blanks_are_not_cut_where_the_end_of_a_text_matters() -> None:
    assert cut("a   ", "   b", TIKTOKEN) is None


def test_no_cut_goes_through_an_added_token() -> None:
    """Neither half would be found."""
    tokens = ("|||IP|||", "   ")
    assert cut("a|||", "IP|||", GPT2, tokens) is None
    assert cut("a|||", "IQ|||", GPT2, tokens) is None  # signs before a letter
    assert cut("a||", "|IP|||", GPT2, tokens) is None
    assert cut("a||||", "||IQ", GPT2, tokens) == "within"
    assert cut("|||IP|||a", "b", GPT2, tokens) == "within"
    assert cut("a", "   b", GPT2, tokens) == "between"
    assert cut("a\n  ", " \n", GPT2, tokens) is None


def test_a_cut_has_much_on_both_sides() -> None:
    """What is near the end of a text may change with what follows."""
    cuts = Cuts("a" * 3 * AROUND, GPT2, [])
    assert cuts.at(AROUND, 0) is None
    assert cuts.at(AROUND + 1, 0) == "within"
    assert cuts.at(AROUND + 1, 1) is None
    assert cuts.at(2 * AROUND, 0) is None


def test_only_characters_that_all_libraries_know_alike_count() -> None:
    """Between two versions of Unicode a thousand characters become letters."""
    assert [kind_of(character) for character in "a\u00e91\u00bd !\n\u200d\ufe0f"] == [*"LLNNSOSOO"]
    assert [kind_of(character) for character in "\u0301\u00a0\u3000\x0b\x00\u212b\u1161\u08a0\U0001fbf0"] == [""] * 9
