import re

import slow
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, documents, sample

from gristmill.cleaning._line_ends import MOST_CLOSERS
from gristmill.cleaning.c4 import C4
from gristmill.text.sentence_ends import CLOSERS, ENDS, SPACED

MARKS = st.lists(st.text('a. )"\n?\u3002\u300d\uff01\u4e2d\u0f0d\u0589', max_size=20))


def sentences(line: str) -> int:
    count = 1
    for place, char in enumerate(line):
        if char in ENDS:
            after, spaced = place + 1, False
            for _ in range(MOST_CLOSERS):
                following = line[after : after + 1]
                spaced |= following.isspace()
                after += following != "" and (following.isspace() or following in CLOSERS)
            count += (spaced or char not in SPACED) and line[after : after + 1] not in ENDS
    return count


def judge(text: str, rule: C4) -> str | None:
    if any(re.search(re.escape(phrase), text, re.IGNORECASE) for phrase in rule.phrases):
        return "lorem_ipsum"
    if any(bracket in text for bracket in rule.brackets):
        return "curly_bracket"
    return "too_few_sentences" if sum(map(sentences, slow.lines(text))) < rule.min_sentences else None


def test_real_and_odd_documents_match_the_slow_rule() -> None:
    """Sentences counted by ASCII marks alone would drop every Chinese page of one paragraph."""
    texts = sample()
    for rule in (C4(), C4(brackets="", min_sentences=40)):
        wanted = [judge(text, rule) for text in texts]
        assert rule.reasons(documents(texts)).to_pylist() == wanted
        assert 50 < wanted.count("too_few_sentences") < len(texts) - 50


@given(MARKS | st.lists(ANY_TEXT), st.integers(0, 8))
def test_any_text_matches_the_slow_rule(texts: list[str], min_sentences: int) -> None:
    rule = C4(min_sentences=min_sentences)
    assert rule.reasons(documents(texts)).to_pylist() == [judge(text, rule) for text in texts]


def test_the_rules_in_their_order() -> None:
    five = "One. Two. Three! Four? Five."
    texts = [
        five,
        five + " Lorem Ipsum {",
        five + "{",
        "One. Two.",
        "\u4e00\u3002\u4e8c\u3002\u4e09\uff01\u56db\uff1f\u4e94\u3002",
    ]
    wanted = [None, "lorem_ipsum", "curly_bracket", "too_few_sentences", None]
    assert C4().reasons(documents(texts)).to_pylist() == wanted


def test_a_phrase_over_the_edge_of_two_documents_is_none() -> None:
    assert C4(min_sentences=0).reasons(documents(["lorem ", "ipsum"])).to_pylist() == [None, None]
