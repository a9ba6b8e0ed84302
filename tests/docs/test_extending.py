"""The plugins of the page on extending, put where it says and run with their tests in a copy of the project."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w/]+\.py)`:\n\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
KINDS = {"cleaning.min_words", "sources.csv_rows", "formats.raw_uint32", "tokenizers.code_points"}
FORMATS = "tests/gristmill/formats/test_every_format.py"
CONTRACTS = [
    "tests/gristmill/test_plugins.py",
    f"{FORMATS}::test_what_is_read_is_what_was_written",
    f"{FORMATS}::test_a_file_that_was_cut_is_refused",
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library with the plugins of the page in it."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ["gristmill", "tests/support", CONTRACTS[0], FORMATS]:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, place)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_has_a_file_and_a_test_for_each_room_that_it_names() -> None:
    """Guards the tests below against a pattern that finds nothing."""
    plugins = {f"{Path(name).parent.name}.{Path(name).stem}" for name in FILES if name.startswith("gristmill/")}
    assert plugins == KINDS
    assert {name for name in FILES if name.startswith("tests/")} == {
        f"tests/gristmill/{room}/test_{kind}.py" for room, kind in (plugin.split(".") for plugin in plugins)
    }
    assert not any((ROOT / name).exists() for name in FILES)


def test_its_plugins_pass_their_tests_and_the_contract(project: Path) -> None:
    """Whoever copies an example must be able to build on it: found by its file, no other line changed."""
    tests = {name: text.count("\ndef test_") for name, text in FILES.items() if name.startswith("tests/")}
    kinds = " or ".join(kind.partition(".")[2] for kind in KINDS)
    found = run(project, "pytest", "-vv", "-p", "no:cacheprovider", "-k", kinds, *tests, *CONTRACTS)
    assert {name: found.count(f"{name}::test_") for name in tests} == tests
    assert all(found.count(f"[{kind}] PASSED") >= 7 for kind in KINDS)
    assert found.count("[raw_uint32] PASSED") == 2
    assert "FAILED" not in found


def test_its_code_is_as_the_checks_want_it(project: Path) -> None:
    run(project, "ruff", "check", *FILES)
    run(project, "ruff", "format", "--check", *FILES)
