"""The server that a command starts for itself."""

import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from gristmill.errors import StorageError
from tasks import server

ROOT = Path(__file__).resolve().parents[2]

IN_FORCE = """
import os, subprocess, sys
from tasks import server
server.put_in_force(server.SETTINGS)
subprocess.run([sys.executable, "-c", '''
from prefect.settings import get_current_settings
for name, value in get_current_settings().to_environment_variables(exclude_unset=True).items():
    print(name, value)
'''], check=True)
"""
"""Shows the settings of a child of a process that has put ours in force, as the server is one."""


def in_force(folder: Path, **environment: str) -> dict[str, str]:
    """What a server has that a command starts in this folder."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    own = {"PYTHONPATH": str(ROOT), "PREFECT_HOME": str(folder / "home"), **environment}
    shown = subprocess.run(
        [sys.executable, "-c", IN_FORCE], cwd=folder, env={**clean, **own}, capture_output=True, text=True, check=True
    ).stdout
    return dict(line.split(" ", 1) for line in shown.splitlines())


def leaves(values: dict[str, Any], place: str) -> Iterator[tuple[str, str]]:
    """The lines of a prefect.toml as variables of the environment."""
    for key, value in values.items():
        name = f"{place}_{key.upper()}"
        yield from leaves(value, name) if isinstance(value, dict) else [(name, str(value).lower())]


def test_a_command_keeps_its_settings_in_any_folder_and_the_user_the_last_word(tmp_path: Path) -> None:
    """They were in a file that Prefect finds in the project's folder alone: started elsewhere, a run of 5,018 task runs
    had 1,060 of them in its history, and 12 that ran for ever. Who has a slow disk and gave the server ten minutes must
    get them."""
    (tmp_path / "prefect.toml").write_text("[server.ephemeral]\nstartup_timeout_seconds = 600\n")
    users = {
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "600",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "77",
    }
    met = in_force(tmp_path, PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE="77")
    found = {name: met.get(name, "").lower().removesuffix(".0") for name in server.SETTINGS}
    assert found == {**server.SETTINGS, **users}


def test_the_settings_are_those_of_the_file() -> None:
    """A server that is started by itself, and one that a command starts, must not differ in what they keep."""
    file = dict(leaves(tomllib.loads((ROOT / "prefect.toml").read_text()), "PREFECT"))
    assert server.SETTINGS.items() <= file.items()


def test_with_an_api_url_nothing_is_started() -> None:
    """A second server would take the runs that people look for on theirs."""
    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:4200/api"}):
        server.begin()
        server.wait()
    assert server._server is None


def test_a_server_that_ends_before_it_answers_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait has three minutes for a slow disk; a server that is not there would use them up in silence."""
    started = server.Server()
    try:
        started._process.kill()
        monkeypatch.setattr(server, "_server", started)
        with pytest.raises(StorageError, match="ended with status -9"):
            server.wait()
    finally:
        started.stop()


def test_a_server_that_ends_by_itself_is_started_again_at_the_same_address() -> None:
    """Out of memory it was killed, and the run waited five minutes to end in a traceback, its data set whole."""
    started = server.Server()
    try:
        first = started._process
        started.keep()
        first.kill()
        deadline = time.monotonic() + 10
        while started._process is first:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert started._process.args == first.args
        assert started._process.poll() is None
    finally:
        started.stop()


class Gone:
    """A flow whose server is gone when its body returns, or before it does."""

    def __init__(self, body: Callable[[], str]) -> None:
        self.fn: Callable[..., Any] = body

    def __call__(self) -> None:
        self.fn()
        raise httpx.ConnectError("Connection refused")


def test_what_is_made_counts_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    """With the manifest in place, status 1 and 110 lines of traceback say that a night's work is lost."""
    assert server.with_server(Gone(lambda: "whole"))() == "whole"
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("warning: Prefect's server does not answer: Connection refused; all is made")


def test_what_is_not_made_yet_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> str:
        raise httpx.ConnectError("Connection refused")

    with pytest.raises(StorageError, match="Connection refused; the same command resumes the run"):
        server.with_server(Gone(body))()
    assert capsys.readouterr().err == ""


def test_it_leaves_nothing_behind() -> None:
    """A process a run, each night, fills a machine."""
    started = server.Server()
    begun = [psutil.Process(process.pid) for process in (started._process, started._watch)]
    started.stop()
    deadline = time.monotonic() + 10
    while any(process.is_running() for process in begun):
        assert time.monotonic() < deadline, begun
        time.sleep(0.05)
