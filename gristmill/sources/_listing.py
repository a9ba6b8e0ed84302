"""From paths, folders, globs and URIs to an ordered list of files; the one place that tells local from remote."""

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from gristmill.errors import GristmillError, InputError, StorageError
from gristmill.sources import _remote
from gristmill.sources._found import Found, Glob, nothing_at, nothing_usable, passed_over, wrong_kind
from gristmill.sources._names import is_hidden, kind_of
from gristmill.sources._streams import Raw
from gristmill.storage import local
from gristmill.types import ShardRef

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_REFUSED = (errno.EACCES, errno.EPERM, errno.ELOOP, *_ABSENT)


def files(paths: Sequence[str]) -> list[Found]:
    """Every file that the paths name, sorted by the bytes of its path, each file once whatever names it goes by.

    A path that exists is taken literally, wildcards or not; folders are read with all their subfolders. Raises
    ``InputError`` for a path that leads to nothing usable.
    """
    found = [file for path in paths for file in (_remote.listed(path) if is_remote(path) else _on_disk(path))]
    once: dict[str, Found] = {}
    for file in sorted(found, key=lambda file: file.uri.encode()):
        once.setdefault(file.same, file)
    return list(once.values())


def measured(uri: str) -> Found:
    """The file at a path or URI, of whatever kind; raises ``InputError`` when there is none."""
    if is_remote(uri):
        return _remote.measured(uri)
    status = _status(uri)
    if status is None:
        raise nothing_at(uri)
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
    return bool(_SCHEME.match(path)) and not path.startswith("file://") and not os.path.lexists(path)


def _on_disk(path: str) -> list[Found]:
    path = str(local(path)) if path.startswith("file://") else path
    status = _status(path)
    if status is None:
        glob = Glob.parse(path)
        if not glob.parts:
            raise nothing_at(path)
        return _below(glob, path)
    if stat.S_ISDIR(status.st_mode):
        return _below(Glob(base=path.rstrip("/"), parts=["**"]), path)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path}: not a regular file")
    if kind_of(path) is None:
        raise wrong_kind(path)
    return [_found(path, status)]


def _below(glob: Glob, path: str) -> list[Found]:
    """The files that a glob picks below its base."""
    prefix = f"{glob.base}/" if glob.base or path.startswith("/") else ""
    found: list[Found] = []
    others: list[str] = []
    for below in _walk(prefix or "./", glob.depth):
        if not glob.matches(below):
            continue
        if passed_over(below):
            others.append(below)
            continue
        status = _status(prefix + below)
        if status is None:
            raise InputError(f"{prefix}{below}: a link that leads nowhere; repair or remove it")
        if stat.S_ISREG(status.st_mode):
            found.append(_found(prefix + below, status))
    if not found:
        raise nothing_usable(path, others)
    return found


def _walk(root: str, depth: int | None) -> Iterator[str]:
    """Paths of the files below ``root`` in the order of their bytes. Hidden folders are not entered, and none twice:
    links may run in circles."""
    waiting = [""]
    entered: set[str] = set()
    while waiting:
        below = waiting.pop()
        if below and not below.endswith("/"):
            yield below
            continue
        status = _status(root + below)
        if status is None or _inode(status) in entered:
            continue
        entered.add(_inode(status))
        if depth is None or below.count("/") < depth:
            waiting += sorted((below + name for name in _entries(root + below)), key=str.encode, reverse=True)


def _entries(folder: str) -> list[str]:
    """Names in a folder, those of folders with a slash at the end, without hidden folders."""
    try:
        with os.scandir(folder) as entries:
            names = [f"{entry.name}/" if _is_folder(entry) else entry.name for entry in entries]
    except OSError as error:
        raise _error(folder, error) from error
    wanted = [name for name in names if not (name.endswith("/") and is_hidden(name))]
    for name in wanted:
        if os.fsencode(name) != name.encode("utf-8", "replace"):
            raise InputError(f"{folder}: the name {os.fsencode(name)!r} is not UTF-8; rename it")
    return wanted


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False  # a link to itself; told later, should its name be that of an input
        raise


def _found(path: str, status: os.stat_result) -> Found:
    identity = f"{status.st_size}:{status.st_mtime_ns}"
    return Found(uri=path, size=status.st_size, identity=identity, same=_inode(status))


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
    if error.errno in _REFUSED:
        return InputError(f"{path}: cannot be read: {error.strerror}")
    return StorageError(f"{path}: {error.strerror}")
