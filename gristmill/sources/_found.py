"""What a listing finds, and how a glob picks from it; the same for a disk and for an object store."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from gristmill.errors import InputError
from gristmill.sources._names import ACCEPTED, kind_of, looks_compressed, suffix_of
from gristmill.types import PassedOver, Value

_MAGIC = re.compile(r"[*?\[]")
_NAMES_SHOWN = 3
_MOST_SUFFIXES = 20


class Passed(Value, frozen=True, kw_only=True):
    """Why a file is not read."""

    below: str
    """Its path below the folder that was listed."""
    reason: str


class Found(Value, frozen=True, kw_only=True):
    """A file to read."""

    uri: str
    size: int
    identity: str
    """Changes when the content may have changed."""
    same: str
    """Equal for two names of one file."""
    link: str = ""
    """The file that it leads to, where it is a link out of its folder."""


class Listed(Value, frozen=True, kw_only=True):
    """What a path names."""

    found: list[Found]
    passed: dict[str, Passed] = msgspec.field(default_factory=dict)
    """By path or URI: files that are not read."""


class Links(Value, frozen=True, kw_only=True):
    """What a link may lead to: files in the listed folders, or, with ``follow``, any."""

    roots: list[str]
    """The listed folders, without links in their paths."""
    follow: bool

    def outside(self, path: str) -> str:
        """Where a path leads out of the folders, what it leads to; raises ``InputError`` unless that is followed."""
        target = os.path.realpath(path)
        if any(Path(target).is_relative_to(root) for root in self.roots):
            return ""
        if not self.follow:
            raise leads_out(path, target)
        return target


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

    def enters(self, folder: str) -> bool:
        """Whether a file somewhere in the folder at this path below ``base`` can be meant."""
        names = folder.rstrip("/").split("/")
        for name, part in zip(names, self.parts, strict=False):
            if part == "**":
                return True
            if not fnmatchcase(name, part):
                return False
        return len(names) < len(self.parts)

    def matches(self, below: str) -> bool:
        """Whether the file at this path below ``base`` is meant."""
        return _match(below.split("/"), self.parts)


def _match(names: Sequence[str], parts: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_match(names[n:], parts[1:] or ["*"]) for n in range(len(names)))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _match(names[1:], parts[1:])


def is_empty(uri: str, size: int) -> bool:
    """Whether a file holds nothing and needs no reading: parquet and compressed files of no bytes are damaged."""
    return size == 0 and kind_of(uri) != "parquet" and not looks_compressed(uri)


def counted(passed: Iterable[Passed], source: str) -> list[PassedOver]:
    """How many files a source passes over, by reason and suffix; of many suffixes the rarest are one."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in passed:
        groups.setdefault((entry.reason, suffix_of(entry.below)), []).append(entry.below)
    rows: dict[tuple[str, str], list[str]] = {}
    for number, (key, names) in enumerate(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))):
        rows.setdefault(key if number < _MOST_SUFFIXES else (key[0], "other"), []).extend(names)
    return [
        PassedOver(source=source, reason=reason, suffix=suffix, files=len(names), examples=sorted(names)[:_NAMES_SHOWN])
        for (reason, suffix), names in sorted(rows.items())
    ]


def wrong_kind(uri: str) -> InputError:
    """The error for a file that was named but cannot be read."""
    return InputError(f"{uri}: its name does not say what it holds; accepted: {ACCEPTED}")


def leads_out(path: str, target: str) -> InputError:
    """The error for a link that takes text from elsewhere."""
    return InputError(
        f"{path}: a link that leads out of its input folder, to {target}; remove it, name the file itself, or read "
        "such links with links: follow"
    )


def nothing_at(path: str) -> InputError:
    """The error for a path that does not exist."""
    return InputError(f"{path}: no such file or folder; accepted: a file, a folder or a glob of {ACCEPTED}")


def nothing_usable(path: str, passed: Iterable[Passed]) -> InputError:
    """The error for a folder or glob without a file to read; all in it were ``passed`` over."""
    others = [*passed]
    names = ", ".join(repr(entry.below) for entry in others[:_NAMES_SHOWN])
    more = ", ..." if len(others) > _NAMES_SHOWN else ""
    reasons = ", ".join(f"{reason} {count}" for reason, count in Counter(entry.reason for entry in others).items())
    seen = f"passed over {len(others)} ({names}{more}: {reasons})" if others else "empty"
    hint = f"accepted: {ACCEPTED}; names that start with '.' or '_' are never read from a folder; /** reads subfolders"
    return InputError(f"{path}: no file to read: {seen}; {hint}")
