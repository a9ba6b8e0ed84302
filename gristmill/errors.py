"""Every error that a caller may catch; each message names the thing met and what would be accepted.

GristmillError
    ConfigError          the request cannot be carried out as written; never retried
        NoSpaceError     it does not fit on the disk
        OccupiedError    something else is where a file should go
        BusyError        another run has the output
        OtherRules       the data set was published by other rules
    InputError           the data is wrong; never retried
    VerificationError    published bytes are not what was recorded about them; never retried
    StorageError         the surroundings failed (disk, network); retried
        WorkerLost       the process that did the work is gone; retried in a fresh one
"""

import difflib
from collections.abc import Iterable

from gristmill.addresses import public_text

LONGEST_GUESSED = 100
"""Characters of a name that are compared; the time grows with their square."""


def alternatives(met: str, accepted: Iterable[str]) -> str:
    """The end of a message about an unknown name: the names there are, and the one that was likely meant."""
    names = [*accepted]
    return "; ".join(filter(None, [f"there are: {', '.join(names)}", guessed(met, names)]))


def guessed(met: str, accepted: Iterable[str]) -> str:
    """``did you mean 'name'?``; empty where no name is near."""
    names = {name.lower(): name for name in accepted}
    near = difflib.get_close_matches(met[:LONGEST_GUESSED].lower(), names, 1)
    return f"did you mean {names[near[0]]!r}?" if near else ""


class GristmillError(Exception):
    """Root of the tree; ``str(error)`` is one line that a user can act on, without the secrets of any address."""

    def __init__(self, message: str = "", *more: str) -> None:
        super().__init__(public_text(message), *more)


class ConfigError(GristmillError):
    """The configuration or the command line cannot be carried out as written."""


class NoSpaceError(ConfigError):
    """The work area or the output does not fit where it was put."""


class OccupiedError(ConfigError):
    """A file of other bytes has the name of one to publish."""


class BusyError(ConfigError):
    """Another run is at work on the output, or has taken it over."""


class OtherRules(ConfigError):
    """What is published was made by other rules than those of the run."""


class InputError(GristmillError):
    """An input file cannot be used.

    ``reason`` is one word of a fixed vocabulary: ``truncated_stream``, ``corrupt_stream``, ``bad_parquet``,
    ``bad_json``, ``no_text_column``, ``unsupported_encoding``, ``unreadable``, ``limit``, ``bad_document``,
    ``bad_ids``.
    """

    def __init__(self, message: str, reason: str = "unreadable") -> None:
        super().__init__(message, reason)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[0])


class VerificationError(GristmillError):
    """Published bytes do not match what was recorded about them."""


class StorageError(GristmillError):
    """Reading or writing failed for a reason outside the data; the same call may succeed later."""


class WorkerLost(StorageError):
    """A worker process died or was killed before it answered."""
