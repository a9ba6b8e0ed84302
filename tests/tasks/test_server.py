"""The server that a command starts for itself."""

import time

import psutil
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from gristmill.errors import StorageError
from tasks import server


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


def test_it_leaves_nothing_behind() -> None:
    """A process a run, each night, fills a machine."""
    started = server.Server()
    begun = [psutil.Process(process.pid) for process in (started._process, started._watch)]
    started.stop()
    deadline = time.monotonic() + 10
    while any(process.is_running() for process in begun):
        assert time.monotonic() < deadline, begun
        time.sleep(0.05)
