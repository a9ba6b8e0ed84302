"""What a listing finds, and how a glob picks from it; the same for a disk and for an object store."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from gristmill.errors import InputError
from gristmill.sources._names import ACCEPTED, is_hidden, kind_of
from gristmill.types import Value

_MAGIC = re.compile(r"[*?\[]")
_NAMES_SHOWN = 3


class Found(Value, frozen=True, kw_only=True):
    """A file to read."""

    uri: str
    size: int
    identity: str
    """Changes when the content may have changed."""
    same: str
    """Equal for two names of one file."""


class Part(Value, frozen=True, kw_only=True):
    """A half-open range of a file, in bytes or row groups."""

    start: int
    stop: int
    size: int
    """Stored bytes that are read for it."""


class Glob(Value, frozen=True, kw_only=True):
    """A path with wildcards: ``*``, ``?`` and ``[...]`` within a name, ``**`` for any number of folders."""

    base: str
    """The folder above the first wildcard, as written; empty for the working folder."""
    parts: list[str]

    @classmethod
    def parse(cls, path: str) -> "Glob":
        """Split at the first name with a wildcard; a path without one has no parts."""
        names = path.split("/")
        first = next((n for n, name in enumerate(names) if _MAGIC.search(name)), len(names))
        return cls(base="/".join(names[:first]), parts=[name for name in names[first:] if name])

    @property
    def depth(self) -> int | None:
        """How many names deep a match can lie below ``base``; None: any number."""
        return None if "**" in self.parts else len(self.parts)

    def matches(self, below: str) -> bool:
        """Whether the file at this path below ``base`` is meant."""
        return _match(below.split("/"), self.parts)


def _match(names: Sequence[str], parts: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_match(names[n:], parts[1:] or ["*"]) for n in range(len(names)))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _match(names[1:], parts[1:])


def passed_over(below: str) -> bool:
    """Whether a folder scan leaves this file out: hidden, in a hidden folder, or of a kind that is not accepted."""
    return any(map(is_hidden, below.split("/"))) or kind_of(below) is None


def wrong_kind(uri: str) -> InputError:
    """The error for a file that was named but cannot be read."""
    return InputError(f"{uri}: its name does not say what it holds; accepted: {ACCEPTED}")


def nothing_at(path: str) -> InputError:
    """The error for a path that does not exist."""
    return InputError(f"{path}: no such file or folder; accepted: a file, a folder or a glob of {ACCEPTED}")


def nothing_usable(path: str, others: Sequence[str]) -> InputError:
    """The error for a folder or glob without a file to read; ``others`` are those that were passed over."""
    names = ", ".join(map(repr, others[:_NAMES_SHOWN]))
    seen = f"passed over {len(others)} ({names}{', ...' if len(others) > _NAMES_SHOWN else ''})" if others else "empty"
    hint = f"accepted: {ACCEPTED}; names that start with '.' or '_' are never read from a folder; /** reads subfolders"
    return InputError(f"{path}: no file to read: {seen}; {hint}")
