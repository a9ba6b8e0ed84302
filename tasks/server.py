"""Prefect's own server for a command, out of reach of the terminal's Ctrl-C."""

import signal
import threading
from collections.abc import Callable
from typing import Any

from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_API_URL


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
        return flow(*arguments)

    return run


def _start() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    SubprocessASGIServer().start()
