"""Prefect's own server for a command: out of reach of the terminal's Ctrl-C, and gone when the command is.

It is the one that Prefect would start by itself, begun earlier and without importing the server here, which takes 2 s:
it starts, 6 s on its own, while the command imports the rest.
"""

import atexit
import contextlib
import functools
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
from prefect import Flow
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

SETTINGS = {
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
}
"""What prefect.toml says, with the reasons, for a command that was started in another folder: without the recorder's
three, the server kept 1,060 of 5,018 task runs."""

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
        self._command = [sys.executable, "-m", "uvicorn", "prefect.server.api.server:create_app", *place, *how]
        self._stopping = False
        self._start()
        atexit.register(self.stop)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
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

    def keep(self) -> None:
        """From here on, start it again where it ends by itself, once: Prefect asks for a minute and the run goes on."""
        threading.Thread(target=self._restart, daemon=True).start()

    def _restart(self) -> None:
        self._process.wait()
        if not self._stopping:
            self._watch.kill()
            self._watch.wait()
            self._start()

    def is_up(self) -> bool:
        """Whether it answers. Raises ``StorageError`` when it ended instead."""
        if (status := self._process.poll()) is not None:
            raise StorageError(f"Prefect's own server ended with status {status}; what it said is above")
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/health").is_success
        return False

    def stop(self) -> None:
        """End it, by force after five seconds."""
        self._stopping = True
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
    """Put ``SETTINGS`` in force, then begin to start a server, which takes a while, unless an API URL is set and there
    is nothing to start."""
    global _server
    put_in_force(SETTINGS)
    if not PREFECT_API_URL.value():
        _server = Server()


def put_in_force(settings: dict[str, str]) -> None:
    """Set them in the environment of this process, which its server inherits. One that the user has set, in the
    environment, a profile or a file, stays."""
    own = get_current_settings().to_environment_variables(exclude_unset=True)
    os.environ.update({name: value for name, value in settings.items() if name not in own})
    refresh_global_settings_context()


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
    _server.keep()
    os.environ["PREFECT_API_URL"] = _server.url
    refresh_global_settings_context()


def with_server(flow: Flow[..., Any]) -> Callable[..., Any]:
    """``flow``, called once the server of ``begin`` answers. Where its body has returned and the server is gone, so
    that Prefect cannot record the end of the run, returns what the body returned; earlier, raises ``StorageError``."""
    body, made = flow.fn, []

    @functools.wraps(body)
    def kept(*arguments: Any, **named: Any) -> Any:
        made.append(body(*arguments, **named))
        return made[-1]

    def run(*arguments: Any) -> Any:
        wait()
        flow.fn = kept
        try:
            return flow(*arguments)
        except TerminationSignal as late:  # it came while Prefect, having finished, gave up handling it
            stopped(late.signal)
        except httpx.HTTPError as error:
            gone = f"Prefect's server does not answer: {error}"
            if not made:
                raise StorageError(f"{gone}; the same command resumes the run once there is one") from error
            print(f"warning: {gone}; all is made, but it has no record of the end of the run", file=sys.stderr)
            return made[-1]

    return run
