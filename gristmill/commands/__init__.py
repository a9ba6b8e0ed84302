"""Commands: arguments in, exit status out. Prefect is not imported here."""

import argparse
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TextIO

from gristmill.addresses import public_text
from gristmill.errors import ConfigError, GristmillError, InputError, guessed
from gristmill.storage import disk

STOPPED = "stopped; the same command resumes where this one ended"

PATIENCE = 8.0
"""Seconds from a signal to the end of a command that cannot end by itself; 10 are promised."""


def stopping_clearly() -> None:
    """Let Ctrl-C and SIGTERM end the command in one line wherever it is, as while it imports, which takes seconds."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stopped_at_once)


def past_stopping() -> None:
    """Let Ctrl-C and SIGTERM change nothing any more: the command is ending, and what it says and its status stand.

    Ignored, not handled: while Python shuts down, which takes seconds, it gives handled signals back to the system,
    which would end the process without a word.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _stopped_at_once(number: int, _frame: object) -> NoReturn:
    """Raises nothing: pydantic, called back while it reads or writes a value, makes an error of its own of it."""
    print(STOPPED, file=sys.stderr, flush=True)
    os._exit(128 + number)


def stopped(number: int, _frame: object = None) -> NoReturn:
    """Ends the command as a shell expects of a process that a signal ended, once all that is open is closed."""
    past_stopping()
    print(STOPPED, file=sys.stderr)
    sys.exit(128 + number)


def stopping_in_time() -> None:
    """From the first Ctrl-C or SIGTERM on, whoever handles it, let the command end within ``PATIENCE`` seconds.

    Workers are stopped at once, but what Prefect does then was seen to take 28 s on a machine with too much to do.
    """
    arriving, arrived = os.pipe()
    os.set_blocking(arrived, False)
    signal.set_wakeup_fd(arrived, warn_on_full_buffer=False)
    threading.Thread(target=_end_late, args=[arriving], daemon=True).start()


def _end_late(arriving: int) -> None:
    while (number := os.read(arriving, 1)[0]) not in (signal.SIGINT, signal.SIGTERM):
        pass
    time.sleep(PATIENCE)
    _stopped_at_once(number, None)


class Parser(argparse.ArgumentParser):
    """A command line whose options are written out; an unknown one is answered with the one that is near."""

    def __init__(self, prog: str, description: str, epilog: str | None = None) -> None:
        form = argparse.RawDescriptionHelpFormatter if epilog else argparse.HelpFormatter
        super().__init__(prog=prog, description=description, epilog=epilog, formatter_class=form, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Ends the command with status 2."""
        if unknown := message.partition("unrecognized arguments: ")[2]:
            options = [name for action in self._actions for name in action.option_strings]
            message = "; ".join(filter(None, [message, guessed(unknown.split()[0].partition("=")[0], options)]))
        super().error(message)


def say(text: str, file: TextIO | None = None) -> None:
    """Print text that may hold names from data: no control sequence in a file name reaches the terminal."""
    from gristmill.reporting.tables import SPARED, printable  # takes 0.3 s, in which a signal would not be handled

    print(printable(text, SPARED), file=file)


def failing_clearly(action: Callable[[], int], *, debug: bool) -> int:
    """The status of ``action``; errors become one line on stderr and a status.

    2: the request or the input has to be changed; 1: anything else; 130: Ctrl-C.
    """
    try:
        return action()
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        return 130
    except Exception as error:  # the last line of defence of a command
        if debug or not isinstance(error, GristmillError | OSError):
            print(public_text(traceback.format_exc()), file=sys.stderr, end="")
        if isinstance(error, OSError):  # of a limit of the system, or of a file that only a damaged data set lacks
            error = disk.wrap(error, Path("this process"))
        say(public_text(f"error: {error}"), file=sys.stderr)
        for note in getattr(error, "__notes__", []):
            say(f"  {note}", file=sys.stderr)
        return 2 if isinstance(error, ConfigError | InputError) else 1
