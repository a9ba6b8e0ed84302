"""What the documents say must be so: a reader tries it as it stands."""

import re
from pathlib import Path
from typing import Any

import pytest
import stack
import yaml

from gristmill import config
from gristmill.plugins import kinds
from tasks import limits

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `([a-z0-9_]+)` \|.*$", re.MULTILINE)


def configurations() -> list[Any]:
    found = []
    for page in PAGES:
        for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            document = yaml.safe_load(block)
            if isinstance(document, dict) and {"dataset", "sources", "cleaning", "dedup", "execution"} & set(document):
                found.append(pytest.param(document, id=f"{page.stem}-{number}"))
    return found


def test_there_are_configurations_in_the_documents() -> None:
    """Guards the test below against a pattern that finds nothing."""
    assert {param.id.partition("-")[0] for param in configurations()} >= {"README", "cleaning", "dedup"}


@pytest.mark.parametrize("document", configurations())
def test_every_configuration_parses(document: dict[str, Any]) -> None:
    """A renamed key in an example is the first thing that a new user meets."""
    assert config.parse(document).dataset


def test_rules_and_filters_of_the_tables_exist() -> None:
    """One that is gone is looked for in vain. That the reference has every kind is tested with its command."""
    listed = ROW.findall((ROOT / "docs" / "cleaning.md").read_text(encoding="utf-8"))
    assert listed
    assert set(listed) <= set(kinds("cleaning"))


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
