import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, documents

from gristmill.cleaning.stop_phrases import StopPhrases
from gristmill.errors import ConfigError

PHRASES = ("as an ai language model", "a+b (c)", "\u8d4c\u573a")


@given(st.lists(ANY_TEXT | st.sampled_from([f"x {phrase.upper()} y" for phrase in PHRASES])))
def test_phrases_are_found_as_written_in_any_case(texts: list[str]) -> None:
    """A dot or plus of a phrase read as a pattern would drop documents that do not hold it."""
    wanted = ["stop_phrase" if any(phrase in text.lower() for phrase in PHRASES) else None for text in texts]
    assert StopPhrases(phrases=PHRASES).reasons(documents(texts)).to_pylist() == wanted


def test_as_many_as_allowed_are_kept() -> None:
    batch = documents(["casino casino", "Casino CASINO casino", "a+b", "aab", ""])
    assert (
        StopPhrases(phrases=("casino",), max_found=2).reasons(batch).to_pylist() == [None, "stop_phrase"] + [None] * 3
    )


def test_no_phrases_are_refused() -> None:
    with pytest.raises(ConfigError, match="phrases"):
        StopPhrases.parse({"phrases": []})
    with pytest.raises(ConfigError, match="phrases"):
        StopPhrases.parse({"phrases": [""]})
