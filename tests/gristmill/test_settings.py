"""What every group of settings does with the values that it is given."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest

from gristmill.config import PrepareConfig, parse
from gristmill.config.execution import Execution
from gristmill.errors import ConfigError
from gristmill.plugins import Plugin, find, kinds
from gristmill.settings import Location, Settings, expanded

ROOMS = ("sources", "cleaning", "dedup", "tokenizers", "ordering", "splits", "packing", "formats")


def test_home_and_variables_are_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run wrote to a folder named ``~`` in the working folder."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("BUCKET", "corpus")
    assert expanded("~") == "/home/me"
    assert expanded("~/out") == "/home/me/out"
    assert expanded("$HOME/out") == expanded("${HOME}/out") == "/home/me/out"
    assert expanded("s3://$BUCKET/a//${BUCKET}b") == "s3://corpus/a//corpusb"
    for plain in ("", "a/~b", "s3://bucket/a", "cost$5.txt", "a$", "./~", "file:///a", "[~]x/*.jsonl"):
        assert expanded(plain) == plain


@pytest.mark.parametrize("path", ["$NO_SUCH_NAME/x", "a/${NO_SUCH_NAME}", "s3://$NO_SUCH_NAME/x", "~no-such-user/x"])
def test_what_cannot_be_expanded_is_refused(path: str) -> None:
    """An empty variable would make ``/x`` of ``$CORPUS/x``."""
    with pytest.raises(ValueError, match=r"write the whole path"):
        expanded(path)


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORPUS", "")
    with pytest.raises(ConfigError, match=r"execution\.work: '\$CORPUS/x': the environment variable CORPUS is not set"):
        parse({"execution": {"work": "$CORPUS/x"}})


def test_what_exists_is_taken_literally_but_for_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder ``~`` that an older run made in the working folder must not catch the next one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    for name in ("$HOME", "~user", "~"):
        (tmp_path / name).mkdir()
    assert (expanded("$HOME"), expanded("~user"), expanded("~")) == ("$HOME", "~user", "/home/me")


def test_expanded_again_it_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers and servers read the configuration once more."""
    monkeypatch.setenv("HOME", "/home/me")
    config = parse({"output": "~/out", "execution": {"work": "~/work"}, "against": []})
    assert (config.output, config.execution.work) == ("/home/me/out", "/home/me/work")
    assert parse(config.model_dump(mode="json")) == config


def groups() -> Iterator[type[Settings]]:
    yield from (PrepareConfig, Execution)
    for room in ROOMS:
        for kind in kinds(room):
            plugin: type[Plugin] = find(room, kind)
            yield plugin


def is_location(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return bool(get_args(annotation)[1:] == get_args(Location)[1:])
    return any(map(is_location, get_args(annotation)))


PATHS = {"against", "output", "path", "paths", "work"}


@pytest.mark.parametrize("group", [*groups()], ids=lambda group: f"{group.__module__}")
def test_every_path_key_follows_the_one_rule(group: type[Settings]) -> None:
    """``~`` worked for one source and made a folder of that name for another."""
    for name, field in group.model_fields.items():
        located = is_location(field.annotation) or get_args(Location)[1] in field.metadata
        assert located == (name in PATHS), f"{name}: {field.annotation} {field.metadata}"
