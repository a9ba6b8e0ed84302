"""Every error that a caller may catch.

GristmillError
    ConfigError      the request is wrong; never retried
    InputError       the data is wrong; never retried
    StorageError     the surroundings failed (disk, network, a killed process); retried
        WorkerLost       the process that did the work is gone
    VerificationError    published bytes are not what the manifest says; never retried

Each message names the thing met and what would be accepted.
"""


class GristmillError(Exception):
    """Root of the tree; ``str(error)`` is one line that a user can act on."""


class ConfigError(GristmillError):
    """The configuration or the command line cannot be carried out as written."""


class InputError(GristmillError):
    """An input file cannot be used.

    ``reason`` is one word of a fixed vocabulary: ``truncated_stream``, ``corrupt_stream``, ``bad_parquet``,
    ``no_text_column``, ``unsupported_encoding``, ``unreadable``, ``limit``, ``bad_document``.
    """

    def __init__(self, message: str, reason: str = "unreadable") -> None:
        super().__init__(message, reason)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[0])


class StorageError(GristmillError):
    """Reading or writing failed for a reason outside the data; the same call may succeed later."""


class WorkerLost(StorageError):
    """A worker process died or was killed before it answered."""


class VerificationError(GristmillError):
    """Published bytes do not match what was recorded about them."""
