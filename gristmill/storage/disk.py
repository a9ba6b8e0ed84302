"""Files that are there wholly or not at all: temporary name, fsync, checksum, rename.

A writer never opens a final name. Whatever kills the process leaves at most a file whose name starts with ``.tmp-``.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import resource
import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from gristmill.errors import ConfigError, GristmillError, NoSpaceError, StorageError
from gristmill.types import Artifact, Value

TEMPORARY = ".tmp-"
COPY_BYTES = 4 << 20


def local(uri: str) -> Path:
    """The path of a local URI (``file:///a/b`` or ``a/b``); raises ``ConfigError`` for any other scheme."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return Path(uri)
    if scheme == "file":
        return Path("/" + rest.lstrip("/"))
    raise ConfigError(f"{uri}: the work area and the output are a folder, file:///folder or s3://bucket/prefix")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Operating-system errors within become ours, with the file named; a full disk is told from the rest."""
    try:
        yield
    except OSError as error:
        raise wrap(error, path) from error


def wrap(error: OSError, path: Path) -> GristmillError:
    """Our error for one of the operating system's."""
    named = _OPENING.search(str(error))  # Arrow's errors name the file in their text alone
    given = error.filename if isinstance(error.filename, str | bytes) else None
    where = os.fsdecode(given or (named[1] if named else path))
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return NoSpaceError(f"{where}: no space left to write; free some, or choose another --work or --output")
    if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
        why = os.strerror(error.errno).lower()
        return ConfigError(f"{where}: {why}; a file is where a folder belongs, or the reverse: move it away")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ConfigError(f"{where}: {os.strerror(error.errno).lower()}; choose a place that this user can write to")
    if error.errno == errno.EMFILE:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return ConfigError(
            f"{where}: too many open files: this process may have {soft:,}, and workers raise that to {hard:,}; find "
            "and pack open a file of every piece of the input: raise both limits (ulimit -Hn and ulimit -Sn, "
            "LimitNOFILE= of a service, --ulimit nofile= of a container), or give fewer and larger input files"
        )
    remedy = _REMEDIES.get(error.errno or 0, "")
    why = os.strerror(error.errno or 0) if named else error.strerror or str(error)
    return StorageError(f"{where}: {why}{remedy}")


_OPENING = re.compile(r"open local file '(.*?)'\. Detail")

_REMEDIES = {
    errno.ENOENT: "; was it moved or removed while the run was at work? Put it back, or run again: it is made again",
    errno.ENFILE: "; all processes of this machine together have as many open files as the sysctl fs.file-max allows: "
    "raise that",
    errno.ENOMEM: "; where there are tens of thousands of pieces raise the sysctl vm.max_map_count, else use fewer "
    "--workers",
}


class Entry(Value, frozen=True, kw_only=True):
    """A file in a listing."""

    nbytes: int
    modified: float
    """Unix time."""


class Writer:
    """A binary file being made under a temporary name that hashes what is written.

    ``close()`` syncs it to the disk and gives it its name; leaving the ``with`` block by an exception removes it. That
    the name survives a power cut as well takes a ``sync_folder``, one for all files of a folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nbytes = 0
        self._digest = hashlib.sha256()
        self._marked = 0, self._digest.copy()
        self._temporary = path.with_name(temporary(path.name))
        with translated(path):
            self._file: BinaryIO = self._temporary.open("wb")

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes; returns their number, as file objects do."""
        with translated(self.path):
            self._file.write(data)
        self._digest.update(data)
        size = memoryview(data).nbytes
        self.nbytes += size
        return size

    def mark(self) -> None:
        """Remember this place for ``rewind``."""
        self._marked = self.nbytes, self._digest.copy()

    def rewind(self) -> None:
        """Give up what was written since the last ``mark``."""
        self.nbytes, self._digest = self._marked
        with translated(self.path):
            self._file.seek(self.nbytes)
            self._file.truncate()

    def flush(self) -> None:
        """For libraries that expect a file object; nothing is promised before ``close``."""

    def tell(self) -> int:
        """Bytes written so far."""
        return self.nbytes

    @property
    def closed(self) -> bool:
        """For libraries that expect a file object."""
        return self._file.closed

    @property
    def artifact(self) -> Artifact:
        """What was written; meaningful after ``close``."""
        return Artifact(uri=str(self.path), sha256=self._digest.hexdigest(), nbytes=self.nbytes)

    def close(self) -> None:
        """Sync and rename to the final name."""
        if self._file.closed:
            return
        with translated(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._temporary.rename(self.path)

    def discard(self) -> None:
        """Remove what was written."""
        with contextlib.suppress(OSError):  # on a full disk closing fails like the write that led here
            self._file.close()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.discard()


def write(path: Path, data: bytes) -> Artifact:
    """Put ``data`` at ``path`` in one step; folders are made."""
    make_folder(path.parent)
    with Writer(path) as out:
        out.write(data)
    with translated(path):
        sync_folder(path.parent)
    return out.artifact


def digest(path: Path) -> str:
    """sha256 of a file's bytes."""
    with translated(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def blocks(parts: list[Path]) -> Iterator[bytes]:
    """The bytes of files one after the other, a block at a time."""
    for part in parts:
        with translated(part), part.open("rb") as file:
            while block := file.read(COPY_BYTES):
                yield block


def swap(target: Path, data: bytes, before: bytes | None) -> None:
    """Replace the file ``target`` by ``data`` in one rename if it holds ``before`` (``None``: is not there).

    Raises ``StorageError`` when it holds anything else but ``data`` already.
    """
    make_folder(target.parent)
    with translated(target):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)  # let go when the folder is closed, also by the end of the process
            found = target.read_bytes() if target.exists() else None
            if found == data:
                return
            if found != before:
                raise StorageError(f"{target}: changed by another run")
            write(target, data)
        finally:
            os.close(folder)


def _here() -> str:
    """8 hex digits for where process ids mean the same: this host and its process namespace, so that a container never
    takes another one's process for its own."""
    try:
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        namespace = 0
    return hashlib.sha256(f"{socket.gethostname()} {namespace}".encode()).hexdigest()[:8]


_HERE = _here()


def temporary(name: str, process: int | None = None) -> str:
    """A name beside the final ``name`` that says which process (default: this one) is making it, and where."""
    return f"{TEMPORARY}{os.getpid() if process is None else process}-{_HERE}-{name}"[:200]


_MADE_BY = re.compile(rf"{re.escape(TEMPORARY)}(?P<process>\d+)-(?P<place>[0-9a-f]{{8}})-")


def is_left_over(name: str) -> bool:
    """Whether this is a temporary name of ours that no process of this host is at work on; one of another host may be
    in use there."""
    made = _MADE_BY.match(name)
    return made is not None and not (made["place"] == _HERE and _alive(int(made["process"])))


def sweep(temporaries: Iterable[Path]) -> int:
    """Remove the temporary files and folders of this host among these whose process is gone; returns how many."""
    swept = 0
    for path in list(temporaries):
        made = _MADE_BY.match(path.name)
        if made is not None and made["place"] == _HERE and is_left_over(path.name):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            swept += 1
    return swept


def remove(path: Path) -> None:
    """Remove a file or a folder with all in it; one that is not there is fine."""
    with translated(path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def make_folder(path: Path) -> None:
    """Create a folder and its parents."""
    with translated(path):
        path.mkdir(parents=True, exist_ok=True)


def sync_folder(path: Path) -> None:
    """Make renames in a folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def free_bytes(path: Path) -> int:
    """Free space for this user where the folder ``path`` is, or would be once it is made.

    Raises ``ConfigError`` when a file is in the way.
    """
    with translated(path):
        while not path.exists():
            path = path.parent
        if not path.is_dir():
            raise ConfigError(f"{path}: a file is there; give a folder, or a place where one can be made")
        return shutil.disk_usage(path).free
