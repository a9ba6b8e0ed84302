import re

import pytest
from data import odd_texts
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, real_texts, strings

from gristmill.cleaning.whitespace import Whitespace
from gristmill.errors import ConfigError

BLANKS = st.lists(st.text(" \t\nab\u3000", max_size=30) | ANY_TEXT)


def slow(text: str, rule: Whitespace) -> str:
    lines = [line.rstrip(" \t") for line in re.split("\r\n|\r|\n", text)]
    if rule.mode == "prose":
        lines = [re.sub(r"([ \t])[ \t]+", r"\1", line) for line in lines]
    text = "\n".join(lines).strip("\n")
    most = "\n" * (rule.blank_lines + 1)
    return re.sub(most + "\n+", lambda _: most, text)


@pytest.mark.parametrize("mode", ["prose", "code"])
def test_real_and_odd_documents_match_the_slow_rule(mode: str) -> None:
    """An off-by-one over a document's edge would move bytes from one document into the next."""
    texts = [*real_texts(), *odd_texts()]
    rule = Whitespace(mode=mode)
    wanted = [slow(text, rule) for text in texts]
    assert rule.rewrite(strings(texts)).to_pylist() == wanted
    assert wanted != texts


@given(BLANKS, st.sampled_from(["prose", "code"]), st.integers(0, 3))
def test_any_text_matches_the_slow_rule_and_twice_is_once(texts: list[str], mode: str, blank_lines: int) -> None:
    rule = Whitespace(mode=mode, blank_lines=blank_lines)
    once = rule.rewrite(strings(texts))
    assert once.to_pylist() == [slow(text, rule) for text in texts]
    assert rule.rewrite(once).equals(once)


def test_code_keeps_indentation_and_columns() -> None:
    """Python source with its indentation gone no longer compiles."""
    text = "def f():\n    return  1  # one  \n\n\n\n\tx\n"
    wanted = "def f():\n    return  1  # one\n\n\tx"
    assert Whitespace(mode="code").rewrite(strings([text])).to_pylist() == [wanted]


def test_prose_cuts_runs_to_their_first_blank() -> None:
    texts = ["a \t b\t c", "   \n \n a", "   ", ""]
    assert Whitespace().rewrite(strings(texts)).to_pylist() == ["a b\tc", " a", "", ""]


def test_negative_blank_lines_are_refused() -> None:
    with pytest.raises(ConfigError, match="blank_lines"):
        Whitespace.parse({"blank_lines": -1})
