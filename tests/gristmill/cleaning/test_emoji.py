import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import strings

from gristmill.cleaning.emoji import Emoji


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ok \U0001f44d\U0001f3fd!", "ok !"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467 family", " family"),
        ("\U0001f1e9\U0001f1ea\u2764\ufe0f1\ufe0f\u20e3", ""),
        ("\U0001f3f4\U000e0067\U000e0062\U000e007f|", "|"),
        ("\u2764\ufe0f\u200d\U0001f525 \U0001f469\u200d\u2695\ufe0f \U0001f469\u200d\u2695", "  "),
        ("1 # * \xa9 \u2122 \u2192 \u2713 \u2714", "1 # * \xa9 \u2122 \u2192 \u2713 \u2714"),
        ("\xa9\ufe0f\u2192\ufe0f", ""),
        ("\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937"),
    ],
)
def test_whole_sequences_go_and_text_stays(text: str, wanted: str) -> None:
    """A joiner or skin tone left behind is an invisible character in the tokens; a joiner of Hindi must stay."""
    assert Emoji().rewrite(strings([text])).to_pylist() == [wanted]
    assert Emoji(mode="keep").rewrite(strings([text])).to_pylist() == [text]


@given(st.lists(st.text(st.characters(max_codepoint=0x20CF, exclude_characters="\xa9\xae", exclude_categories=["Cs"]))))
def test_text_without_emoji_is_untouched(texts: list[str]) -> None:
    assert Emoji().rewrite(strings(texts)).to_pylist() == texts
