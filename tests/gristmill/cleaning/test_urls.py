import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, sample, strings

from gristmill.cleaning.urls import Urls

MODES = ["keep", "placeholder", "drop"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("See https://a.example/x?y=1&z=(2)#f.", "See [URL]."),
        ("(www.example.org/a_b)", "([URL])"),
        ("HTTP://A.B, then FTP://c.d/e!", "[URL], then [URL]!"),
        ('<a href="http://a.b/c">', '<a href="[URL]">'),
        ("\u8bf7\u770bhttp://a.b/c\uff0c\u8c22\u8c22", "\u8bf7\u770b[URL]\uff0c\u8c22\u8c22"),
        ("not a url: http:// or awww.dots", "not a url: http:// or awww.dots"),
    ],
)
def test_an_address_ends_where_the_sentence_goes_on(text: str, wanted: str) -> None:
    """A pattern that runs to the next blank would eat full stops, brackets and Chinese text."""
    assert Urls().rewrite(strings([text])).to_pylist() == [wanted]


def test_modes() -> None:
    text = strings(["at http://a.b now", ""])
    assert Urls(mode="keep").rewrite(text).equals(text)
    assert Urls(mode="drop").rewrite(text).to_pylist() == ["at  now", ""]
    assert Urls(placeholder=r"<\1>").rewrite(text).to_pylist() == [r"at <\1> now", ""]


@given(st.lists(ANY_TEXT), st.sampled_from(MODES))
def test_twice_is_once(texts: list[str], mode: str) -> None:
    once = Urls(mode=mode).rewrite(strings(texts))
    assert Urls(mode=mode).rewrite(once).equals(once)


def test_real_documents_lose_their_addresses() -> None:
    rewritten = Urls().rewrite(strings(sample())).to_pylist()
    assert sum("[URL]" in text for text in rewritten) > 20
    assert not [text for text in rewritten if "https://www" in text]
