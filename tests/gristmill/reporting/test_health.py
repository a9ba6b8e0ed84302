"""What the rules did, and the warnings."""

from typing import Any

import pytest
from manifests import manifest, token_file

from gristmill.reporting.health import health, held_out, warnings
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


def split(train: int, val: int, kind: str = "fraction") -> list[str]:
    """What is said of a data set with so many documents in its parts, in two formats."""
    parts = {"train": train, "val": val}
    files = [
        token_file(format=format, split=name, documents=count, path=f"{format}/{name}")
        for format in ("nanogpt", "olmo")
        for name, count in parts.items()
        if count
    ]
    return held_out(manifest(files=files, config={"split": {"kind": kind}}))


@pytest.mark.parametrize(
    ("train", "val", "said"),
    [
        (484, 1, "validation has 1 of 485 documents, too few; split: {kind: fraction, fraction: 0.01} gives about 5"),
        (99, 1, "validation has 1 of 100 documents, too few; split: {kind: fraction, fraction: 0.05} gives about 5"),
        (4, 0, "validation has 0 of 4 documents, too few; split: {kind: fraction, fraction: 0.1} gives about 1"),
        (991, 4, "validation has 4 of 995 documents, too few; split: {kind: fraction, fraction: 0.01} gives about 10"),
        (0, 7, "every document fell in the validation part; lower split.fraction"),
    ],
)  # fmt: skip
def test_too_little_validation_is_said_with_what_would_do(train: int, val: int, said: str) -> None:
    """One document of 485 was the validation set, in silence: every loss measured was the loss on that one."""
    (warning,) = split(train, val)
    assert warning.removesuffix(", {kind: none} none") == said


def test_validation_that_does_is_not_spoken_of() -> None:
    """A warning on every run is read on none."""
    assert split(480, 5) == split(482, 3) == split(10**6, 500) == split(9, 0, "none") == split(1, 1, "characters") == []
    assert split(9, 0, "characters") != []
    assert held_out(manifest(files=[])) == [] or warnings(manifest(files=[]))
