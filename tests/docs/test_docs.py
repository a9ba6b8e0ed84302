"""What the documents say must be so: a reader tries it as it stands."""

import re
from pathlib import Path
from typing import Any

import pytest
import stack
import yaml
from pydantic_core import to_jsonable_python

from gristmill import config
from gristmill.cleaning.base import Cleaner
from gristmill.plugins import find, kinds
from tasks import limits

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
SETTING = re.compile(r"`([a-z_]+): ([^`]+)`")
ROW = re.compile(r"^\| `([a-z0-9_]+)` \|.*$", re.MULTILINE)
CLEANING = (ROOT / "docs" / "cleaning.md").read_text(encoding="utf-8")


def configurations() -> list[Any]:
    found = []
    for page in PAGES:
        for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            document = yaml.safe_load(block)
            if isinstance(document, dict) and {"dataset", "sources", "cleaning", "dedup", "execution"} & set(document):
                found.append(pytest.param(document, id=f"{page.stem}-{number}"))
    return found


def section(title: str) -> str:
    """A part of the page on cleaning, up to the next heading of its level."""
    found: str = CLEANING.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return found


def settings(cell: str) -> dict[str, Any]:
    return {name: yaml.safe_load(value) for name, value in SETTING.findall(cell)}


def plain(value: Any) -> Any:
    """As YAML would read it; keys of mappings as numbers."""
    found = to_jsonable_python(value)
    return {int(key): entry for key, entry in found.items()} if isinstance(found, dict) else found


def test_there_are_configurations_in_the_documents() -> None:
    """Guards the test below against a pattern that finds nothing."""
    assert {param.id.partition("-")[0] for param in configurations()} >= {"README", "cleaning", "dedup"}


@pytest.mark.parametrize("document", configurations())
def test_every_configuration_parses(document: dict[str, Any]) -> None:
    """A renamed key in an example is the first thing that a new user meets."""
    assert config.parse(document).dataset


@pytest.mark.parametrize("room", ["cleaning", "dedup", "tokenizers"])
def test_every_kind_has_a_row(room: str) -> None:
    """A kind that no page names is not found by those who need it; one that is gone is looked for in vain."""
    listed = ROW.findall((ROOT / "docs" / f"{room}.md").read_text(encoding="utf-8"))
    assert set(kinds(room)) <= set(listed)
    if room == "cleaning":
        assert set(listed) == set(kinds(room))


@pytest.mark.parametrize("kind", kinds("cleaning"))
def test_fields_and_defaults_are_those_of_the_class(kind: str) -> None:
    """A default that the page gives wrongly decides about somebody's corpus."""
    lines = [line for part in ("Rules", "Filters") for line in section(part).splitlines() if f"| `{kind}` |" in line]
    (line,) = lines
    fields = find("cleaning", kind).model_fields
    cell = line.split(" | ")[2]
    named = set(re.findall(r"`([a-z0-9_]+)[:`]", cell))
    assert set(fields) <= named, f"not in the row: {set(fields) - named}"
    for name, value in settings(cell).items():
        assert plain(fields[name].get_default(call_default_factory=True)) == value, name


def test_the_presets_of_genres_are_those_of_the_classes() -> None:
    header, *lines = [line for line in section("Genres").splitlines() if line.startswith("| ")]
    genres = [cell.strip() for cell in header.strip("|").split("|")][1:]
    told = {}
    for line in lines:
        kind, *cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        told[kind.strip("`")] = {
            genre: found for genre, cell in zip(genres, cells, strict=True) if (found := settings(cell))
        }
    classes = {kind: find("cleaning", kind) for kind in kinds("cleaning")}
    assert told == {
        kind: found.genres for kind, found in classes.items() if issubclass(found, Cleaner) and found.genres
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_are_named_exist(page: Path) -> None:
    """Scripts of commands, and the targets of links within the project."""
    text = page.read_text(encoding="utf-8")
    scripts = re.findall(r"python ((?:benchmarks|flows)/\w+\.py)", text)
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    missing = [name for name in scripts if not (ROOT / name).is_file()]
    missing += [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_the_first_page_leads_to_all_others() -> None:
    """A page that nothing names is not read."""
    named = set(re.findall(r"\]\((docs/[\w-]+\.md)\)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert named == {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}


def test_the_page_on_operating_has_the_commands_that_tests_run() -> None:
    """A command that only the page has is never tried; one that only the tests have is never found."""
    page = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    prefect (.*)$", page, re.MULTILINE)
    assert " ".join(stack.DEPLOY) in commands
    assert " ".join(["work-pool", "create", *stack.POOL]) in commands
    compose = (ROOT / "docker-compose.yml").read_text()
    for name in re.findall(r"prefect gcl create (\S+)", page):
        assert name in (limits.UPLOADS, limits.DOWNLOADS)
        assert name in compose
    for image in re.findall(r"\]\((images/[^)]+)\)", page):
        assert (ROOT / "docs" / image).is_file()
    deployments = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text())["deployments"]
    assert [row for row in re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)] == [
        name
        for name in ("prepare", "nightly", "rehearse", "verify-weekly", "batch")
        if name in {deployment["name"] for deployment in deployments}
    ]
