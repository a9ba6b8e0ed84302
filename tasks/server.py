"""Prefect's own server for a command: out of reach of the terminal's Ctrl-C, and gone when the command is.

It is the one that Prefect would start by itself, begun earlier and without importing the server here, which takes 2 s:
it starts, 6 s on its own, while the command imports the rest.
"""

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import httpx
from prefect.context import refresh_global_settings_context
from prefect.exceptions import TerminationSignal
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS,
    get_current_settings,
)

from gristmill.commands import stopped
from gristmill.errors import StorageError

EPHEMERAL = {
    "PREFECT_UI_ENABLED": "0",
    "PREFECT__SERVER_EPHEMERAL": "1",
    "PREFECT__SERVER_FINAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
}
"""What Prefect 3.9 sets for a server of this kind: no pages, and no services but those that record runs. Nor does it
keep the feed of events, a fifth of its work: states, logs and artifacts of a run are recorded apart."""

WATCH = 'read nothing; kill "$0" && sleep 5 && kill -9 "$0"'
"""For a shell whose input is a pipe that nobody writes to: it ends when the process with the other end does."""


class Server:
    """A server on a free port of this machine, in a session of its own: Ctrl-C goes to every process of a terminal's
    session, and a server that it ends cannot record that the run was stopped.

    It ends with this process even when nothing here can end it, as after kill -9: a process of 1 MB waits for that.
    """

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/api"
        place = ["--host", "127.0.0.1", "--port", str(port)]
        how = ["--factory", "--lifespan", "on", "--log-level", "error"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "prefect.server.api.server:create_app", *place, *how],
            env={**os.environ, **EPHEMERAL, **get_current_settings().to_environment_variables(exclude_unset=True)},
            start_new_session=True,
        )
        self._watch = subprocess.Popen(
            ["sh", "-c", WATCH, str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        atexit.register(self.stop)

    def is_up(self) -> bool:
        """Whether it answers. Raises ``StorageError`` when it ended instead."""
        if (status := self._process.poll()) is not None:
            raise StorageError(f"Prefect's own server ended with status {status}; what it said is above")
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/health").is_success
        return False

    def stop(self) -> None:
        """End it, by force after five seconds."""
        atexit.unregister(self.stop)
        self._process.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._watch.kill()
        self._watch.wait()


_server: Server | None = None


def begin() -> None:
    """Begin to start a server, which takes a while, unless an API URL is set and there is nothing to start."""
    global _server
    if not PREFECT_API_URL.value():
        _server = Server()


def wait() -> None:
    """Until the server of ``begin`` answers; from then on Prefect talks to it. Raises ``StorageError`` when it does
    not come."""
    if _server is None:
        return
    seconds = PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS.value()
    deadline = time.monotonic() + seconds
    while not _server.is_up():
        if time.monotonic() > deadline:
            raise StorageError(
                f"Prefect's own server did not answer within {seconds} s; "
                "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS gives it longer"
            )
        time.sleep(0.05)
    os.environ["PREFECT_API_URL"] = _server.url
    refresh_global_settings_context()


def with_server(flow: Callable[..., Any]) -> Callable[..., Any]:
    """``flow``, called once the server of ``begin`` answers."""

    def run(*arguments: Any) -> Any:
        wait()
        try:
            return flow(*arguments)
        except TerminationSignal as late:  # it came while Prefect, having finished, gave up handling it
            stopped(late.signal)

    return run
