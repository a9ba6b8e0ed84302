"""From paths, folders, globs and URIs to an ordered list of files; the one place that tells local from remote."""

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from gristmill.errors import GristmillError, InputError, StorageError
from gristmill.sources import _remote
from gristmill.sources._found import (
    Found,
    Glob,
    Links,
    Listed,
    Passed,
    is_empty,
    nothing_at,
    nothing_usable,
    wrong_kind,
)
from gristmill.sources._names import UNKNOWN, is_hidden, kind_of, reason_against
from gristmill.sources._streams import Raw
from gristmill.storage.disk import local
from gristmill.types import DANGLING, ShardRef, Value

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LOCAL = ("file://", "local://")
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
_REFUSED = (errno.EACCES, errno.EPERM, *_ABSENT)


def files(paths: Sequence[str], *, follow: bool = False) -> Listed:
    """Every file that the paths name, sorted by the bytes of its path, each file once whatever names it goes by.

    A path that exists is taken literally, wildcards or not; folders are read with all their subfolders. Links that lead
    out of the folders are read with ``follow``. Raises ``InputError`` for one without, and for a path that leads to
    nothing usable.
    """
    bases = [_glob(path).base or "." for path in paths if not is_remote(path)]
    links = Links(roots=[os.path.realpath(base) for base in bases], follow=follow)
    listed = [_remote.listed(path, links) if is_remote(path) else _on_disk(path, links) for path in paths]
    once: dict[str, Found] = {}
    for file in sorted((file for part in listed for file in part.found), key=lambda file: file.uri.encode()):
        if once.setdefault(file.same, file).size != file.size and is_remote(file.uri):
            raise InputError(
                f"{file.uri}: two addresses that differ in what is secret alone lead to different files; read them in "
                "sources of different names"
            )
    passed = {uri: entry for part in listed for uri, entry in part.passed.items()}
    for part in listed:
        for file in part.found:
            passed.pop(file.uri, None)  # one path passes it over, another names it
    return Listed(found=list(once.values()), passed=passed)


def reaches(path: str, folder: str) -> bool:
    """Whether ``files`` looks into a folder, which need not exist, when it is given this path."""
    glob = _glob(path)
    base, target = glob.base.rstrip("/"), folder.rstrip("/")
    if not is_remote(path) and not is_remote(folder):
        base, target = os.path.realpath(base or "."), os.path.realpath(_local(folder))
    below = target.removeprefix(base.rstrip("/") + "/")
    if base == target or below == target:
        return base == target
    return not any(map(is_hidden, below.split("/"))) and glob.enters(below)


def measured(uri: str) -> Found:
    """The file at a path or URI, of whatever kind; raises ``InputError`` when there is none."""
    if is_remote(uri):
        return _remote.measured(uri)
    status = _status(uri)
    if status is None:
        raise InputError(_nowhere(uri)) if os.path.lexists(uri) else nothing_at(uri)
    return _found(uri, status)


def opened(uri: str) -> Raw:
    """The file at a path or URI, for reading from its start; regular files only."""
    if is_remote(uri):
        return _remote.opened(uri)
    try:
        # Non-blocking: opening a named pipe would otherwise wait for a writer for ever.
        descriptor = os.open(uri, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _error(uri, error) from error
    file = os.fdopen(descriptor, "rb", buffering=0)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise InputError(f"{uri}: not a regular file")
    return Raw(file, uri)


def check_unchanged(shard: ShardRef) -> None:
    """Raises ``InputError`` when the shard's file on disk is gone or another than it was when it was listed."""
    if not is_remote(shard.uri) and measured(shard.uri).identity != shard.identity:
        raise InputError(f"{shard.uri}: changed since it was listed; run again")


def is_remote(path: str) -> bool:
    """Whether a path is a URI; ``file://`` is local, and so is whatever exists on disk under that very name."""
    return bool(_SCHEME.match(path)) and not path.startswith(_LOCAL) and not os.path.lexists(path)


def _local(path: str) -> str:
    return str(local(f"file://{path.partition('://')[2]}")) if path.startswith(_LOCAL) else path


def _glob(path: str) -> Glob:
    """A folder stands for all that is in it."""
    path = _local(path)
    glob = Glob(base=path, parts=[]) if os.path.lexists(path) else Glob.parse(path)
    return glob if glob.parts else Glob(base=glob.base.rstrip("/"), parts=["**"])


def _on_disk(path: str, links: Links) -> Listed:
    path = _local(path)
    status = _status(path)
    if status is None and os.path.lexists(path):
        if kind_of(path) is None:
            raise InputError(_nowhere(path))
        return Listed(found=[_dangling(path)])
    if status is None and not Glob.parse(path).parts:
        raise nothing_at(path)
    if status is None or stat.S_ISDIR(status.st_mode):
        return _below(path, links)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path}: not a regular file")
    if kind_of(path) is None:
        raise wrong_kind(path)
    return Listed(found=[_found(path, status)])


def _below(path: str, links: Links) -> Listed:
    """The files that a folder or glob picks, and those that it passes over."""
    glob = _glob(path)
    prefix = f"{glob.base}/" if glob.base or path.startswith("/") else ""
    found: list[Found] = []
    passed: dict[str, Passed] = {}
    for entry in _walk(prefix or "./", glob, links):
        uri = prefix + entry.below
        reason = reason_against(entry.below)
        status = _status(uri) if reason in ("", UNKNOWN) else None
        if reason in ("", UNKNOWN):
            reason = _reason(uri, reason, status)
        if reason:
            passed[uri] = Passed(below=entry.below, reason=reason)
        elif status is None:
            found.append(_dangling(uri))
        else:
            found.append(_found(uri, status, links.outside(uri) if entry.linked else ""))
    if not found:
        raise nothing_usable(path, passed.values())
    return Listed(found=found, passed=passed)


def _reason(uri: str, reason: str, status: os.stat_result | None) -> str:
    """Why a file is passed over, now that more is known than its name; empty where it is read."""
    if status is None:
        return DANGLING if reason else ""
    if not stat.S_ISREG(status.st_mode):
        return "not a regular file"
    return reason or ("empty" if is_empty(uri, status.st_size) else "")


class _Entry(Value, frozen=True, kw_only=True):
    """What a walk meets."""

    below: str
    """Its path below the folder where the walk began; that of a folder ends with a slash."""
    linked: bool
    """Whether it is a link, or there is one on the way to it."""


def _walk(root: str, glob: Glob, links: Links) -> Iterator[_Entry]:
    """The files below ``root`` that a glob means, in the order of the bytes of their paths. No folder is entered twice:
    links may run in circles."""
    waiting = [_Entry(below="", linked=False)]
    entered: set[str] = set()
    while waiting:
        entry = waiting.pop()
        if entry.below and not entry.below.endswith("/"):
            if glob.matches(entry.below):
                yield entry
            continue
        if entry.below and not glob.enters(entry.below):
            continue
        if is_hidden(entry.below.rstrip("/").rpartition("/")[2]):
            yield from (found for found in _in_hidden(root, entry) if glob.matches(found.below))
            continue
        status = _status(root + entry.below)
        if status is None or _inode(status) in entered:
            continue
        entered.add(_inode(status))
        if entry.linked:
            links.outside(root + entry.below)
        waiting += sorted(_entries(root, entry), key=lambda found: os.fsencode(found.below), reverse=True)


def _in_hidden(root: str, folder: _Entry) -> Iterator[_Entry]:
    """What is in a hidden folder, only to be counted: it may be unreadable, and have names that are not UTF-8. A link
    to a folder counts as one file."""
    if folder.linked:
        yield _Entry(below=folder.below.rstrip("/"), linked=True)
        return
    for path, _, names in os.walk(root + folder.below):
        for name in names:
            below = os.fsencode(os.path.join(path, name).removeprefix(root)).decode("utf-8", "replace")  # noqa: PTH118
            yield _Entry(below=below, linked=False)


def _entries(root: str, folder: _Entry) -> list[_Entry]:
    """What is in a folder."""
    path = root + folder.below
    try:
        with os.scandir(path) as entries:
            names = [(f"{entry.name}/" if _is_folder(entry) else entry.name, entry.is_symlink()) for entry in entries]
    except OSError as error:
        raise _error(path, error) from error
    for name, _ in names:
        if os.fsencode(name) != name.encode("utf-8", "replace") and not (name.endswith("/") and is_hidden(name)):
            raise InputError(f"{path}: the name {os.fsencode(name)!r} is not UTF-8; rename it")
    return [_Entry(below=folder.below + name, linked=folder.linked or is_link) for name, is_link in names]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False  # a link to itself; it is named later, should its name be that of an input
        raise


def _dangling(path: str) -> Found:
    return Found(uri=path, size=0, identity=DANGLING, same=path)


def _nowhere(path: str) -> str:
    return f"{path}: a {DANGLING}; repair or remove it"


def _found(path: str, status: os.stat_result, link: str = "") -> Found:
    identity = f"{status.st_size}:{status.st_mtime_ns}"
    return Found(uri=path, size=status.st_size, identity=identity, same=_inode(status), link=link)


def _inode(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"


def _status(path: str) -> os.stat_result | None:
    """What the path leads to, links followed; None when nothing is there."""
    try:
        return Path(path).stat()
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise _error(path, error) from error


def _error(path: str, error: OSError) -> GristmillError:
    if error.errno in _ABSENT and os.path.lexists(path):
        return InputError(_nowhere(path))
    if error.errno in _REFUSED:
        return InputError(f"{path}: cannot be read: {error.strerror}")
    return StorageError(f"{path}: {error.strerror}")
