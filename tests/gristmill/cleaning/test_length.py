import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, documents, real_texts

from gristmill.cleaning.length import Length
from gristmill.errors import ConfigError


def slow(text: str, rule: Length) -> str | None:
    if len(text) < rule.min_chars:
        return "too_short"
    return "too_long" if rule.max_chars is not None and len(text) > rule.max_chars else None


def test_real_documents_match_the_slow_rule() -> None:
    """Counting bytes for characters would keep Chinese documents a third as long as the bound."""
    rule = Length(min_chars=400, max_chars=4000)
    wanted = [slow(text, rule) for text in real_texts()]
    assert rule.reasons(documents(real_texts())).to_pylist() == wanted
    assert {None, "too_short", "too_long"} == set(wanted)


@given(st.lists(ANY_TEXT), st.integers(0, 30), st.none() | st.integers(30, 60))
def test_any_text_matches_the_slow_rule(texts: list[str], low: int, high: int | None) -> None:
    rule = Length(min_chars=low, max_chars=high)
    assert rule.reasons(documents(texts)).to_pylist() == [slow(text, rule) for text in texts]


def test_bounds_are_kept_and_a_crossed_pair_is_refused() -> None:
    assert Length(min_chars=2, max_chars=3).reasons(documents(["a", "ab", "abc", "abcd"])).to_pylist() == [
        "too_short",
        None,
        None,
        "too_long",
    ]
    with pytest.raises(ConfigError, match="below min_chars"):
        Length.parse({"min_chars": 5, "max_chars": 4})
