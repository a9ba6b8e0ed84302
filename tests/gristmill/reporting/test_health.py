"""What the rules did, and the warnings."""

from typing import Any

import pytest

from gristmill.reporting.health import health
from gristmill.reporting.tables import markdown


def row(rule: str, documents: tuple[int, int], characters: tuple[int, int], **more: Any) -> dict[str, Any]:
    return {
        "rule": rule,
        "documents_in": documents[0],
        "documents_out": documents[1],
        "characters_in": characters[0],
        "characters_out": characters[1],
        "dropped": {},
        **more,
    }


@pytest.mark.parametrize(
    ("documents", "characters", "warning"),
    [
        ((100, 19), (9000, 8000), "keeps 19.0 % of its documents, under 20%"),
        ((100, 20), (9000, 100), ""),
        ((100, 0), (9000, 0), "keeps 0.0 % of its documents, under 20%"),
        ((100, 100), (1000, 499), "changes 50.1 % of the characters, over 50%"),
        ((100, 100), (1000, 1501), "changes 50.1 % of the characters, over 50%"),
        ((100, 100), (1000, 500), ""),
        ((100, 99), (1000, 10), ""),
        ((0, 0), (0, 0), ""),
        ((3, 3), (0, 0), ""),
    ],
)
def test_a_warning_for_what_takes_too_much(
    documents: tuple[int, int], characters: tuple[int, int], warning: str
) -> None:
    """A threshold set wrong empties the corpus; a filter that drops long documents changes no text."""
    (found,) = health("web", [row("length", documents, characters)])
    assert found["warning"] == warning


def test_a_row_tells_documents_and_characters() -> None:
    kept, changed = health("a|b", [row("length", (8, 4), (1000, 700)), row("html", (4, 4), (700, 630), extra=1)])
    assert (kept["source"], kept["rule"], kept["kept"], kept["changed"]) == ("a|b", "length", "50.0 %", "0.0 %")
    assert (changed["kept"], changed["changed"]) == ("100.0 %", "10.0 %")
    assert (changed["characters in"], changed["characters out"]) == (700, 630)
    assert health("web", [row("length", (0, 0), (0, 0))])[0]["kept"] == ""
    assert "| 1,000 | 700 |" in markdown([kept, changed])
