"""How far a training is: the library of Hugging Face shows it on a terminal alone, so it gets one."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gristmill.processes import progress

_BAR = re.compile(rb"(?:\x1b\[2K)?\[[\d:]+\] (\w[\w -]*?) +[^\w ]* *(\d+) +/ +(\d+)")
"""``[00:00:07] Compute merges  ###---  2414 / 8000``."""

COLUMNS = 200
"""Of the terminal: a whole bar."""

SECONDS = 0.25
"""Between looks at it."""

OUTPUT = (1, 2)
"""Bars go to standard error, and a line feed after each to standard output."""


def trained(train: Callable[[], None]) -> None:
    """Call ``train`` and report the steps that the library shows meanwhile by ``progress.step``.

    It runs on a thread, since the library does not hear Ctrl-C: the caller does, and the thread ends with the process.
    """
    failures: list[BaseException] = []

    def run() -> None:
        try:
            train()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    with _terminal(*pty.openpty()) as read:
        thread.start()
        while thread.is_alive():
            read(SECONDS)
        read(0)
    if failures:
        raise failures[0]


@contextmanager
def _terminal(ours: int, its: int) -> Iterator[Callable[[float], None]]:
    """``its`` side of a terminal in the place of this process's output; the function reads from ``ours``, waiting so
    many seconds."""
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    term = os.environ.get("TERM")
    real = [os.dup(number) for number in OUTPUT]
    screen = _Screen(real[-1])

    def read(seconds: float) -> None:
        if select.select([ours], [], [], seconds)[0]:
            screen.show(os.read(ours, 1 << 16))

    os.environ["TERM"] = "xterm"  # nothing is shown on a dumb one
    for number in OUTPUT:
        os.dup2(its, number)
    try:
        yield read
    finally:
        os.environ.pop("TERM")
        os.environ.update({} if term is None else {"TERM": term})
        for file, number in zip(real, OUTPUT, strict=True):
            os.dup2(file, number)
        for file in (*real, its, ours):
            with contextlib.suppress(OSError):
                os.close(file)


class _Screen:
    """Lines as they come: bars are reported, all else goes on to the file ``other``, also where it follows a bar."""

    def __init__(self, other: int) -> None:
        self._other = other
        self._rest = b""

    def show(self, data: bytes) -> None:
        *lines, self._rest = re.split(rb"[\r\n]", self._rest + data)
        for line in lines:
            if other := _BAR.sub(b"", line).strip():
                os.write(self._other, other + b"\n")
        bars = [found for line in [*lines, self._rest] if (found := _BAR.match(line))]
        if bars:
            name, done, total = bars[-1].groups()
            progress.step(name.decode().lower(), int(done), int(total))
