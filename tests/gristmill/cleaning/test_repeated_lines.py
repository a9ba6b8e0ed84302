from collections import Counter

import slow
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, documents, sample

from gristmill.cleaning.repeated_lines import RepeatedLines

FEW_LINES = st.lists(st.lists(st.sampled_from(["a", " a", "a ", "b", "", "c d"]), max_size=20).map("\n".join))


def judge(text: str, rule: RepeatedLines) -> str | None:
    return "repeated_line" if max(Counter(slow.lines(text)).values(), default=0) > rule.max_repeats else None


def test_real_and_odd_documents_match_the_slow_rule() -> None:
    """Lines of neighbouring documents counted together would drop documents for what others say."""
    texts, rule = sample(), RepeatedLines(max_repeats=3)
    wanted = [judge(text, rule) for text in texts]
    assert rule.reasons(documents(texts)).to_pylist() == wanted
    assert 20 < wanted.count(None) < len(texts) - 20


@given(FEW_LINES | st.lists(ANY_TEXT), st.integers(1, 6))
def test_any_text_matches_the_slow_rule(texts: list[str], max_repeats: int) -> None:
    rule = RepeatedLines(max_repeats=max_repeats)
    assert rule.reasons(documents(texts)).to_pylist() == [judge(text, rule) for text in texts]


def test_five_times_is_kept_and_six_is_not() -> None:
    batch = documents(["same\n" * 5, "same\n" * 6, "\n" * 9, "same"])
    assert RepeatedLines().reasons(batch).to_pylist() == [None, "repeated_line", None, None]
