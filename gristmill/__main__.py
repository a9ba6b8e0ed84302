"""``python -m gristmill verify|explain|inspect|doctor|chat|reference ...``: the commands that need no flow."""

import sys

from gristmill.commands import chat, doctor, inspect, reference, trace, verify
from gristmill.errors import guessed

COMMANDS = {
    "chat": chat.main,
    "doctor": doctor.main,
    "explain": trace.main,
    "inspect": inspect.main,
    "reference": reference.main,
    "verify": verify.main,
}

USAGE = f"usage: python -m gristmill {{{','.join(COMMANDS)}}} ..."

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        guess = guessed(sys.argv[1], COMMANDS) if len(sys.argv) > 1 else ""
        print("; ".join(filter(None, [USAGE, guess])), file=sys.stderr)
        sys.exit(2)
    sys.exit(COMMANDS[sys.argv[1]](sys.argv[2:]))
