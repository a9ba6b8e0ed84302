import re

import slow
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, sample, strings

from gristmill.cleaning.c4_lines import C4Lines

LINES = st.sampled_from(
    [
        "A line of text.",
        "two words.",
        "no end here at all",
        "we use Cookies today.",
        "He left...",
        " ",
        "(It is so.)",
        "A word \u00bb",
    ]
)
CITED = st.sampled_from(
    ["Known since 1902.[3]", "A [citation needed] claim it is!", "\u8fd9\u662f\u4e66\u3002", "x[", "1]"]
)
TEXTS = st.lists(st.lists(LINES | CITED | ANY_TEXT, max_size=8).map("\n".join))


def keeps(line: str, rule: C4Lines) -> bool:
    words = slow.words(line)
    lowered = line.encode().lower().decode()
    ended = rule.terminal == "" or (slow.ended(line, rule.terminal) and not line.endswith(("...", "\u2026")))
    fits = len(words) >= rule.min_words and all(len(word) <= rule.max_word_length for word in words)
    return ended and fits and not any(phrase in lowered for phrase in rule.phrases)


def slow_rewrite(text: str, rule: C4Lines) -> str:
    if rule.citations == "remove":
        text = re.sub(r"\[(?:[0-9]*|edit|citation needed)\]", "", text)
    return "\n".join(line for line in slow.lines(re.sub("\r\n?", "\n", text)) if keeps(line, rule))


def test_real_and_odd_documents_match_the_slow_rule() -> None:
    """A line dropped from the wrong document, or half a character cut, would corrupt the text."""
    texts = sample()
    for rule in (C4Lines(), C4Lines(terminal="", citations="keep", max_word_length=12)):
        wanted = [slow_rewrite(text, rule) for text in texts]
        rewritten = rule.rewrite(strings(texts))
        rewritten.validate(full=True)
        assert rewritten.to_pylist() == wanted
        assert 50 < sum(map(bool, wanted)) < len(texts)


@given(TEXTS, st.sampled_from(["remove", "keep"]), st.integers(0, 4))
def test_any_text_matches_the_slow_rule(texts: list[str], citations: str, min_words: int) -> None:
    rule = C4Lines(citations=citations, min_words=min_words, phrases=("use cookies", "line"))
    assert rule.rewrite(strings(texts)).to_pylist() == [slow_rewrite(text, rule) for text in texts]


@given(TEXTS)
def test_twice_is_once_where_citations_are_kept(texts: list[str]) -> None:
    rule = C4Lines(citations="keep")
    once = rule.rewrite(strings(texts))
    assert rule.rewrite(once).equals(once)


def test_a_phrase_over_the_edge_of_two_lines_or_documents_is_none() -> None:
    texts = ["All visitors use", "cookies are for tea.", "Today they use\ncookies in the kitchen."]
    rule = C4Lines(terminal="", min_words=1)
    assert rule.rewrite(strings(texts)).to_pylist() == texts
