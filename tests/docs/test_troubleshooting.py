"""Messages on the page on troubleshooting are those that the code prints."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gristmill.commands import STOPPED, prepare, verify
from gristmill.errors import ConfigError
from gristmill.plugins import load

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^(?:\| |- \*\*)`([^`]+)`(?: \||\*\*:)", PAGE.partition("## The configuration")[2], re.MULTILINE)
PREFECT = "prefect/server/api/server.py"


@cache
def printed() -> tuple[str, ...]:
    """Every string in the code, with ``<>`` for what is put into it."""
    files = [path for room in ("gristmill", "flows", "tasks") for path in (ROOT / room).rglob("*.py")]
    spec = importlib.util.find_spec("prefect")
    assert spec is not None
    assert spec.origin is not None
    files.append(Path(spec.origin).parents[1] / PREFECT)
    return tuple(text for path in files for text in strings(ast.parse(path.read_text(encoding="utf-8"))))


def strings(node: ast.AST) -> Iterator[str]:
    """Of a tree; those within a formatted one belong to it."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "<>" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


def test_there_are_messages_on_the_page() -> None:
    assert len(MESSAGES) > 60
    assert len(set(MESSAGES)) == len(MESSAGES)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_one_that_the_code_has(message: str) -> None:
    """Whoever searches for a message that was reworded since finds nothing. Its parts between angle brackets must
    stand in one string, in this order, with something put in between."""
    parts = [re.escape(part) for part in re.split(r"<[^>]*>", message)]
    wanted = re.compile(".*?".join(parts), re.DOTALL)
    assert any(wanted.search(text) for text in printed())
    assert max(len(part) for part in re.split(r"<[^>]*>", message)) >= 8, "too little to search for"


def test_an_invented_message_would_be_found_out() -> None:
    """Guards the test above against a pattern that fits anything."""
    assert not any("the moon is in the wrong phase" in text for text in printed())


def test_what_a_command_prints_is_what_the_page_says() -> None:
    """One of them as it comes out, with everything put in."""
    with pytest.raises(ConfigError) as caught:
        load("cleaning", {"kind": "lenght"})
    assert str(caught.value).startswith("unknown kind 'lenght' in cleaning; there are: c4, ")
    assert "unknown kind <kind> in <room>; <kinds>" in MESSAGES
    assert STOPPED in PAGE


def test_the_exit_statuses_are_those_of_the_help() -> None:
    table = PAGE.partition("## Exit status")[2].partition("\n## ")[0]
    listed = set(re.findall(r"^\| (\d+) \|", table, re.MULTILINE))
    told = set(re.findall(r"\b(\d+) (?:done|the|stopped|by|all|something)", prepare.EPILOG + verify.EPILOG))
    assert listed == told == {"0", "1", "2", "3", "130", "143"}
