import slow
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, documents, sample

from gristmill.cleaning.symbols import Symbols


def judge(text: str, rule: Symbols) -> str | None:
    symbols = sum(slow.is_symbol(char) for char in text)
    return "too_many_symbols" if slow.share(symbols, len(text)) > rule.max_share else None


def test_real_and_odd_documents_match_the_slow_rule() -> None:
    """Counting bytes, or ASCII symbols alone, would judge Chinese and curly quotes wrongly."""
    texts, rule = sample(), Symbols(max_share=0.1)
    wanted = [judge(text, rule) for text in texts]
    assert rule.reasons(documents(texts)).to_pylist() == wanted
    assert 20 < wanted.count(None) < len(texts) - 20


@given(st.lists(ANY_TEXT), st.floats(0, 1))
def test_any_text_matches_the_slow_rule(texts: list[str], max_share: float) -> None:
    rule = Symbols(max_share=max_share)
    assert rule.reasons(documents(texts)).to_pylist() == [judge(text, rule) for text in texts]


def test_a_share_on_the_bound_is_kept() -> None:
    assert Symbols().reasons(documents(["!!!abcdefg", "!!!abcdef", ""])).to_pylist() == [None, "too_many_symbols", None]
