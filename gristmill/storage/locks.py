"""A small file that processes lock: shared by those that work together, held by none once all of them have ended.

What it says never changes: other words are another file under the same name. So a lock counts only while the file that
was locked is the one at its path.
"""

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from gristmill.storage import disk


class LockFile:
    """The file at ``path``, opened; ``data`` is what it says."""

    def __init__(self, path: Path, opened: Path | None = None) -> None:
        self._path = path
        self._descriptor = os.open(opened or path, os.O_RDWR)  # NFS locks exclusively what may be written
        self.data = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)

    def share(self) -> bool:
        """Whether this process has it now, beside others."""
        return self._lock(fcntl.LOCK_SH)

    def own(self) -> bool:
        """Whether this process alone has it now; where it does not, it has lost its share too."""
        return self._lock(fcntl.LOCK_EX)

    def _lock(self, how: int) -> bool:
        with disk.translated(self._path):
            try:
                fcntl.flock(self._descriptor, how | fcntl.LOCK_NB)
                return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
            except (BlockingIOError, FileNotFoundError):
                return False

    def remove(self) -> None:
        """Take it away, and its folder where nothing else is in it; for its owner."""
        self._path.unlink()
        with suppress(OSError):
            self._path.parent.rmdir()

    def close(self) -> None:
        """Unlock it, as the end of the process does."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def opened(path: Path) -> LockFile | None:
    """The file as it is, not locked; None where there is none."""
    with disk.translated(path):
        try:
            return LockFile(path)
        except FileNotFoundError:
            return None


def made(path: Path, data: bytes, owned: LockFile | None) -> LockFile | None:
    """A new file that this process shares, in the place of one that it owns; None where another one was first."""
    disk.make_folder(path.parent)
    new = path.with_name(disk.temporary(f"{threading.get_ident()}-{path.name}"))
    disk.write(new, data)
    with disk.translated(path):
        file = LockFile(path, new)
        file.share()
        try:
            if owned is None:
                os.link(new, path)
            else:
                new.replace(path)
        except FileExistsError:
            file.close()
            return None
        finally:
            new.unlink(missing_ok=True)
    return file
