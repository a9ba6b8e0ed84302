"""The reference of the configuration: complete, and the committed page is what the command prints."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from gristmill.commands import reference
from gristmill.config import PrepareConfig
from gristmill.config.execution import Execution
from gristmill.plugins import find, kinds
from gristmill.settings import Rehearsal, Settings
from gristmill.sources.files import Files
from gristmill.storage.s3_client import S3Settings

PAGE = Path(__file__).resolve().parents[3] / "docs" / "configuration.md"
ROOMS = ["cleaning", "dedup", "formats", "ordering", "packing", "sources", "splits", "tokenizers"]
LIMITS = type(Files(paths=["a"]).limits)
MODELS = [PrepareConfig, Execution, S3Settings, Rehearsal, LIMITS]
MODELS += [find(room, kind) for room in ROOMS for kind in kinds(room)]


def row(key: str, heading: str) -> list[str]:
    """The cells of a key's row below a heading."""
    part = PAGE.read_text(encoding="utf-8").split(f"\n{heading}\n")[1]
    line = next(line for line in part.splitlines() if line.startswith(f"| `{key}` |"))
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_the_committed_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """A default that the page has wrongly is believed. Write it anew: python -m gristmill reference >
    docs/configuration.md"""
    assert reference.main([]) == 0
    assert capsys.readouterr().out == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.__module__}.{model.__name__}")
def test_every_key_says_what_it_does(model: type[Settings]) -> None:
    """A form shows a key by its description; without one, users guess."""
    assert [name for name, field in model.model_fields.items() if len(field.description or "") < 8] == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_kind_has_a_section(room: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    part = text.split(f"\n## `{reference.SECTIONS[room]}`\n")[1].split("\n## ")[0]
    headings = re.findall(r"^### `(\w+)`$", part, re.MULTILINE)
    assert [heading for heading in headings if heading != "limits"] == kinds(room)


def test_bounds_choices_and_defaults_are_those_of_the_classes() -> None:
    assert row("workers", "## `execution`")[1:3] == ["whole number from 0 to 4096", "`0`"]
    assert row("sample_rate", "## `sources`")[1] == "number above 0 to 1 or `null`"
    assert row("algorithm", "### `train`")[1:3] == ["`bpe` or `wordpiece` or `unigram`", '`"bpe"`']
    assert row("paths", "### `files`")[1:3] == ["list of text, not empty", "required"]
    assert row("formats", "## The file")[1:3] == ["list of kinds of [`formats`](#formats)", "`kind: nanogpt`"]
    assert row("split", "## The file")[1] == "a kind of [`split`](#split)"
    assert row("phrases", "### `c4_lines`")[2] == "below"
    assert row("recheck", "### `execution.s3`")[1] == "`etag` or `sha256`"


def test_links_within_the_page_lead_somewhere() -> None:
    text = PAGE.read_text(encoding="utf-8")
    headings = {re.sub(r"[^\w -]", "", title).lower() for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_nothing_in_a_description_breaks_the_table() -> None:
    """A bar would end the cell, and a tag in angle brackets would not be seen."""

    class Odd(BaseModel):
        either: Any = Field(None, description="a|b, in out/<dataset> or ``<split>``")

    (line,) = [line for line in reference._table(Odd) if "either" in line]
    assert line == r"| `either` | any value | `null` | a\|b, in out/&lt;dataset> or `<split>` |"
