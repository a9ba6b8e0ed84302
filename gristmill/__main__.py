"""``gristmill prepare|verify|explain|inspect|doctor|chat|reference ...``: the commands that need no Prefect."""

import sys
from collections.abc import Callable
from importlib import import_module

from gristmill.commands import STOPPED
from gristmill.errors import guessed

COMMANDS = {
    "chat": "chat",
    "doctor": "doctor",
    "explain": "trace",
    "inspect": "inspect",
    "prepare": "prepare_here",
    "reference": "reference",
    "verify": "verify",
}
"""The module of each in ``gristmill.commands``; only the one that is asked for is imported."""

USAGE = f"usage: gristmill {{{','.join(COMMANDS)}}} ..."


def command(name: str) -> Callable[[list[str]], int]:
    """What runs a command: arguments in, exit status out."""
    found: Callable[[list[str]], int] = import_module(f"gristmill.commands.{COMMANDS[name]}").main
    return found


def main() -> int:
    """Run the command that the first argument names; returns its exit status."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        guess = guessed(sys.argv[1], COMMANDS) if len(sys.argv) > 1 else ""
        print("; ".join(filter(None, [USAGE, guess])), file=sys.stderr)
        return 2
    try:
        return command(sys.argv[1])(sys.argv[2:])
    except KeyboardInterrupt:  # while it imports; later the command itself sees to it
        print(STOPPED, file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
