"""Prefect's own server for a command: out of reach of the terminal's Ctrl-C, and gone when the command is."""

import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from prefect.exceptions import TerminationSignal
from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_API_URL

from gristmill.commands import stopped

WATCH = 'read nothing; kill "$0" && sleep 5 && kill -9 "$0"'
"""For a shell whose input is a pipe that nobody writes to: it ends when the process with the other end does."""


class Server(SubprocessASGIServer):
    """Ends with this process even when nothing here can end it, as after kill -9: a process of 1 MB waits for that, in
    a session of its own, so that what is sent to the whole group does not reach it.

    A signal that the system sends when the parent dies (PR_SET_PDEATHSIG) comes when the starting thread ends.
    """

    def _run_uvicorn_command(self) -> "subprocess.Popen[Any]":
        started = super()._run_uvicorn_command()
        self._watch = subprocess.Popen(
            ["sh", "-c", WATCH, str(started.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return started


def with_server(flow: Callable[..., Any]) -> Callable[..., Any]:
    """``flow``, called once the server runs that Prefect would start for it; with an API URL there is nothing to start.

    A terminal sends Ctrl-C to every process of the command. A server that it ends cannot record that the run was
    stopped, and the client asks it again for minutes. Processes inherit blocked signals, so it is started by a thread
    that blocks this one, while Ctrl-C still interrupts the thread that waits.
    """

    def run(*arguments: Any) -> Any:
        if not PREFECT_API_URL.value():
            starting = threading.Thread(target=_start, daemon=True)
            starting.start()
            starting.join()
        try:
            return flow(*arguments)
        except TerminationSignal as late:  # it came while Prefect, having finished, gave up handling it
            stopped(late.signal)

    return run


def _start() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    Server().start()
