import os
from pathlib import Path

import pytest
import remote
from texts import documents

from gristmill.cleaning.python import ALLOWED, Python
from gristmill.config import parse
from gristmill.errors import ConfigError
from gristmill.processes import pool

MODULE = """
def verdict(text):
    known = {"yes": True, "no": False, "none": None, "why": "too_blue", "odd": 3, "long": "x" * 41, "spaced": "a b"}
    return known[text]

number = 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module of the user's own, with a name that no other test has imported."""
    name = f"own_filters_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(ALLOWED, f"other, {name}")
    return name


def reasons(function: str, *texts: str) -> list[str | None]:
    return Python(function=function).reasons(documents(texts)).to_pylist()


def test_what_the_function_returns_decides(module: str) -> None:
    assert reasons(f"{module}:verdict", "yes", "no", "none", "why") == [None, "python", None, "too_blue"]


@pytest.mark.parametrize("text", ["odd", "long", "spaced"])
def test_any_other_result_is_refused(module: str, text: str) -> None:
    """A function that returns its text by mistake would make a million reasons, one a document."""
    with pytest.raises(ConfigError, match="expected True or None"):
        reasons(f"{module}:verdict", text)


def test_a_module_that_is_not_allowed_is_never_imported(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone who can fill in the form on the server would run code on the workers."""
    (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + MODULE)
    for allowed in ("", "other", f"{module}x,{module}.sub"):
        monkeypatch.setenv(ALLOWED, allowed)
        for action in (Python(function=f"{module}:verdict").check, lambda: reasons(f"{module}:verdict", "yes")):
            with pytest.raises(ConfigError, match=f"'{module}' is not allowed on this machine; {ALLOWED} names"):
                action()
    assert not (tmp_path / "ran").exists()


def test_the_permission_is_that_of_the_machine_that_does_the_work(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that parsed the configuration may allow what the worker must not run."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(remote.__file__).parent), os.environ["PYTHONPATH"]]))
    config = parse({"cleaning": [{"kind": "python", "function": f"{module}:verdict"}]})
    config.check_rules()
    monkeypatch.delenv(ALLOWED)
    try:
        with pytest.raises(ConfigError, match="is not allowed on this machine"):
            pool.call(remote.reason, config=config, text="why")
    finally:
        pool.close()


def test_a_function_that_is_not_there_is_named(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gone", "number"):
        with pytest.raises(ConfigError, match=f"has no function '{name}'"):
            reasons(f"{module}:{name}", "yes")
    monkeypatch.setenv(ALLOWED, "not_there_at_all")
    with pytest.raises(ConfigError, match="cannot import 'not_there_at_all'"):
        reasons("not_there_at_all:verdict", "yes")


@pytest.mark.parametrize("function", ["os.system", "os:path.join", ":f", "m:", "a b:c", "m:f()", "../m:f"])
def test_what_names_no_function_is_refused(function: str) -> None:
    with pytest.raises(ConfigError, match="function"):
        Python.parse({"function": function})


def test_the_revision_is_part_of_the_identity() -> None:
    """Code that changed behind the same name must be able to say so."""
    assert Python(function="m:f").identity() != Python(function="m:f", revision=2).identity()
