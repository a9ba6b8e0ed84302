import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, sample, strings

from gristmill.cleaning.html import Html

PAGE = """<!doctype html><html><head><title>T</title><style>p {color: red}</style></head><body>
<h1>Head</h1><p>One <b>two</b>, three&amp;four &lt;x&gt;.<br>next<!-- hidden --></p>
<ul><li>a<li>b</ul><pre>  code
    x</pre><script>var hidden = "<p>";</script></body></html>"""


def rewrite(text: str, rule: Html | None = None) -> str:
    return (rule or Html()).rewrite(strings([text])).to_pylist()[0]


def test_a_page_becomes_its_visible_text() -> None:
    """Stripping by pattern would keep scripts and styles, and glue the lines of a list together."""
    text = rewrite(PAGE)
    assert [line.strip() for line in text.split("\n") if line.strip()] == [
        "Head",
        "One two, three&four <x>.",
        "next",
        "a",
        "b",
        "code",
        "x",
    ]
    assert "  code\n    x" in text


@pytest.mark.parametrize(
    "page", ["<p>open <b>and<i>crossed</b>", "<div><p>a</p>" + "<div>" * 5000, "</p></p></p>", "<p>" * 3]
)
def test_broken_markup_is_repaired(page: str) -> None:
    assert "<" not in rewrite(page)


@given(st.lists(st.sampled_from(["<p>", "</b>", "<a href=", "<!--", "&#0;", "&#xD800;", "<table>"]) | ANY_TEXT))
def test_any_markup_gives_text(pieces: list[str]) -> None:
    """A page that the parser refuses, or a lone surrogate out of an entity, would end the whole shard."""
    page = "<p>" * 3 + "".join(pieces)
    rewritten = Html().rewrite(strings([page, "kept"]))
    rewritten.validate(full=True)
    assert rewritten[1].as_py() == "kept"


def test_text_that_mentions_a_tag_keeps_its_line_breaks() -> None:
    text = "The <p> element\nand the <b> element.\n\n  x < y > z\n"
    assert rewrite(text) == text
    assert rewrite(text, Html(min_tags=1)) != text


def test_only_pages_change_in_a_batch() -> None:
    plain = [text for text in sample() if "<" not in text]
    texts = [*plain[:50], PAGE, *plain[50:100]]
    rewritten = Html().rewrite(strings(texts)).to_pylist()
    assert [number for number, pair in enumerate(zip(texts, rewritten, strict=True)) if pair[0] != pair[1]] == [50]
