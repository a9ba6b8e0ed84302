import re

import pytest
from hypothesis import given
from texts import ANY_TEXT, strings

from gristmill.cleaning.lines import Lines
from gristmill.errors import ConfigError


def rewrite(text: str, rule: Lines | None = None) -> str:
    return (rule or Lines()).rewrite(strings([text])).to_pylist()[0]


@pytest.mark.parametrize(
    "line",
    [
        "Skip to main content",
        "  Read more\u2026",
        "\xa9 2024 Example Ltd. All rights reserved.",
        "SHARE ON FACEBOOK",
        "This website uses cookies to improve your experience.",
        "Privacy Policy | Terms of Use",
        "12 Comments",
        "Posted by admin on May 3",
    ],
)
def test_template_lines_go_and_their_neighbours_stay(line: str) -> None:
    assert rewrite(f"Before.\n{line}\nAfter.") == "Before.\nAfter."
    assert rewrite(f"Before.\n{line}") == "Before.\n"
    assert rewrite(line) == ""


@pytest.mark.parametrize(
    "line",
    [
        "I read more than he did.",
        "The menu was short.",
        "We use cookies for tea, and then we " + "x" * 200,
        "",
        "next to",
    ],
)
def test_sentences_stay(line: str) -> None:
    """A pattern that matches inside a line would take sentences with it."""
    assert rewrite(f"{line}\nEnd") == f"{line}\nEnd"


@given(ANY_TEXT, ANY_TEXT)
def test_own_patterns_match_whole_lines_only(before: str, after: str) -> None:
    rule = Lines(patterns=("stop",))
    lines = re.split("\r\n|\r|\n", f"{before}\nSTOP\n{after}")
    kept = [line for line in lines if line.strip(" \t").lower() != "stop"]
    assert rewrite(f"{before}\nSTOP\n{after}", rule).rstrip("\n") == "\n".join(kept).rstrip("\n")


def test_a_pattern_that_does_not_compile_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"patterns.0.*\(\?=a\)"):
        Lines.parse({"patterns": ["(?=a)"]})
    assert rewrite("menu", Lines(patterns=())) == "menu"
