"""Every command on the pages is tried, as far as that goes without a service.

What needs nothing but a data set runs. ``prepare`` and ``train_tokenizer`` check everything that they check before they
start Prefect; runs of theirs are in tests/flows. Of benchmarks, of commands on an object store and of Prefect's own the
arguments are read by the command itself and nothing else is done; the services are in ``make test-stack``. Targets of
make are looked up.
"""

import argparse
import gzip
import json
import os
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from corpora import byte_tokenizer
from prefect.cli._app import _app as prefect

from gristmill import pipeline
from gristmill.__main__ import command
from gristmill.commands import prepare, train_tokenizer, verify
from gristmill.config import parse

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINE = re.compile(r"^(?:    )?((?:python|\.venv/bin/python|prefect|make|docker|cp|pip|export) .*)$", re.MULTILINE)
WORDS = re.compile(r"`((?:python|prefect|make|pip|docker) [^`\n]+)`")
ELSEWHERE = {
    "cp .env.example .env": "tests/deployments/test_compose.py reads the file",
    "docker compose up --build --detach": "tests/deployments/test_compose.py checks the compose file",
    "docker compose up": "the same",
    "export PREFECT_API_URL=http://127.0.0.1:4200/api": "the shell's",
    "python train.py": "tests/docs/test_examples.py runs it",
    "python benchmarks/task_runs.py": "takes no arguments, and seconds to import Prefect's test server",
}
PLACEHOLDERS = {
    "DOC_ID": "document-7", "OUTPUT": "out/web-2026", "URI": "out/web-2026", "CONFIG": "web.yaml", "CORPUS": "data",
    "FOLDER": "data", "TOKENIZER...": "tokenizer.json", "GPT2.json": "tokenizer.json", "PYTHON": sys.executable,
}  # fmt: skip


def commands() -> list[str]:
    """Each command once, without what follows as a comment or goes to another program."""
    found: list[str] = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found += LINE.findall(text) + WORDS.findall(text)
    whole = [re.split(r"\s+# |\s+> ", command)[0].strip().removeprefix(".venv/bin/") for command in found]
    return list(dict.fromkeys(whole))


class Read(Exception):
    """The arguments were read; nothing more is wanted."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands are given: the configurations of the pages with their input, and the data sets that they
    speak of. More is held out than the README does, so that there is a document 41 to look at."""
    found = tmp_path_factory.mktemp("commands")
    byte_tokenizer(found / "tokenizer.json")
    texts = [
        f"{number} " + " ".join(f"word{number * 131 + place * 17}" for place in range(60)) for number in range(150)
    ]
    lines = [json.dumps({"id": f"document-{number}", "text": text}) + "\n" for number, text in enumerate(texts)]
    (found / "data" / "web").mkdir(parents=True)
    (found / "data" / "web" / "a.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    config = yaml.safe_load(_block("README.md", "# web.yaml")) | {"split": {"fraction": 0.4}}
    (found / "web.yaml").write_text(yaml.safe_dump(config))
    (found / "trained").mkdir()
    (found / "trained" / "web.yaml").write_text(yaml.safe_dump(config | {"tokenizer": {"kind": "train"}}))
    (found / "trained" / "data").symlink_to(found / "data")
    (found / "notes.yaml").write_text(_block("README.md", "# notes.yaml"))
    (found / "notes").mkdir()
    (found / "notes" / "a.txt").write_text("A note.\n")
    (found / "shakespeare.yaml").write_text(_block("docs/train-example.md", "# shakespeare.yaml"))
    (found / "input.txt").write_text("To be, or not to be.\n" * 200)
    talk = '{"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]}\n'
    (found / "talks.jsonl").write_text(talk)
    np.array([5, 6, 50256, 7, 50256], "<u2").tofile(found / "train.bin")
    before = Path.cwd()
    os.chdir(found)
    pipeline.prepare(parse(config))
    os.chdir(before)
    shutil.copytree(found / "out" / "web-2026", found / "out" / "news")
    return found


def _block(page: str, first: str) -> str:
    """The YAML on a page that begins so."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return next(found for found in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if found.startswith(first))


@pytest.fixture
def placed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """In that folder, the environment as it was afterwards."""
    monkeypatch.chdir(folder)
    before = dict(os.environ)
    yield folder
    os.environ.clear()
    os.environ.update(before)


def status(action: Callable[[], object]) -> object:
    """The exit status of a command, however it gives it."""
    try:
        return action() or 0
    except SystemExit as ended:
        return ended.code or 0


def read(script: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a script up to where its arguments are read, by its own parser."""
    parse_args = argparse.ArgumentParser.parse_args

    def reading(parser: argparse.ArgumentParser, given: list[str] | None = None) -> None:
        parse_args(parser, given)
        raise Read

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", reading)
    monkeypatch.setattr(sys, "argv", [str(script), *arguments])
    monkeypatch.setattr(sys, "path", [str(script.parent), *sys.path])
    with pytest.raises(Read):
        runpy.run_path(str(script), run_name="__main__")


def checked(name: str, arguments: list[str]) -> object:
    """A flow's command without its flow; no arguments at all: its help."""
    command = {"prepare": prepare, "train_tokenizer": train_tokenizer}[name]
    return status(lambda: command.check(arguments or ["--help"]) and 0)


def test_the_pages_have_commands() -> None:
    """Guards the test below against a pattern that finds nothing."""
    found = commands()
    assert len(found) > 60
    assert {"python -m gristmill doctor out/web-2026", "make soak", "prefect server start"} <= set(found)
    assert set(ELSEWHERE) <= set(found)


@pytest.mark.parametrize("command", [command for command in commands() if command not in ELSEWHERE])
def test_a_command_of_the_pages_can_be_given(
    command: str, placed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A renamed option, or an example that was never tried, is the first thing that a reader meets."""
    program, *words = [PLACEHOLDERS.get(word, word) for word in shlex.split(command)]
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif program == "prefect":
        prefect.parse_args(words, exit_on_error=False, print_error=False)
    elif program == "pip":
        settings = (ROOT / "pyproject.toml").read_text()
        assert all(f"\n{extra} = [" in settings for extra in re.findall(r"\[(\w+)\]", command))
    elif words[0] == "-m":
        _run_module(words[1], words[2:], monkeypatch, capsys)
    elif words[0].startswith("benchmarks/"):
        read(ROOT / words[0], words[1:], monkeypatch)
    elif words[0] == "flows/verify.py":
        assert verify.main(words[1:]) == 0
    else:
        name = Path(words[0]).stem
        monkeypatch.chdir(placed / "trained" if name == "train_tokenizer" else placed)
        assert checked(name, words[1:]) == 0, capsys.readouterr().err


def _run_module(
    module: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``python -m gristmill`` or ``soak``; where there is no file to work on, the options alone are looked up."""
    if module == "soak":
        return read(ROOT / "tests" / "support" / "soak" / "__main__.py", words, monkeypatch)
    name, *arguments = words
    if any("s3://" in word for word in arguments) or words == ["chat"]:
        assert status(lambda: command(name)(["--help"])) == 0
        known = capsys.readouterr().out
        assert [word for word in arguments if word.startswith("--") and word not in known] == []
        return None
    assert command(name)(arguments) == 0
    return None
