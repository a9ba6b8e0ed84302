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


ARTICLE = """<html><body><nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>
<div class="sidebar"><p>Popular posts</p></div>
<article><h1>The river</h1><p>The river runs slowly past the old houses.</p>
<pre>  mill &lt;stone&gt;</pre></article>
<footer><p>All rights reserved</p></footer></body></html>"""


def test_the_main_content_is_what_the_page_is_about() -> None:
    """Menus and footers, the same on every page of a site, would be most of the text of a corpus."""
    main, everything = rewrite(ARTICLE, Html(extract="main")), rewrite(ARTICLE)
    for text in ("The river runs slowly past the old houses.", "The river\n", "  mill <stone>"):
        assert text in main
        assert text in everything
    for text in ("Home", "About us", "Popular posts", "All rights reserved"):
        assert text not in main
        assert text in everything


@given(st.lists(st.sampled_from(["<p>", "<nav>", "<article>", "</div>", "<footer", "&#xD800;"]) | ANY_TEXT))
def test_any_markup_has_a_main_content(pieces: list[str]) -> None:
    rewritten = Html(extract="main").rewrite(strings(["<p>" * 3 + "".join(pieces), "kept"]))
    rewritten.validate(full=True)
    assert rewritten[1].as_py() == "kept"
