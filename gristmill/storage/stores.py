"""A folder of files, on this machine or in an object store: the one way to the work area and to data sets.

Files of an object store are built, and kept as copies, in a spool on this machine: ``GRISTMILL_SPOOL``, by default
``~/.cache/gristmill``. Nothing is ever read from a copy that does not have the bytes of the original.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from gristmill.errors import ConfigError, StorageError
from gristmill.storage import disk, publishing, s3
from gristmill.types import Artifact

SPOOL = "GRISTMILL_SPOOL"
COPIES = "copies"


class Place(Protocol):
    """A folder. Names are relative to it, with forward slashes."""

    uri: str
    """Without a slash at its end."""

    def has(self, name: str) -> bool:
        """Whether a file of this name is there; raises when that cannot be told."""

    def read(self, name: str) -> bytes:
        """All bytes of a small file."""

    def names(self, folder: str = "") -> list[str]:
        """Every file beneath ``folder``, sorted; temporary ones are not seen."""

    def entries(self) -> dict[str, disk.Entry]:
        """Every file by its name, as ``names`` has them."""

    def path(self, name: str) -> Path:
        """A file on this machine that holds these bytes, to be read only."""

    def folder(self, name: str) -> Path:
        """A folder on this machine that holds the files directly in ``name``, to be read only."""

    def fresh(self, name: str) -> AbstractContextManager[Path]:
        """``path``, read from the place itself and not from a copy made earlier; lent for a ``with`` block."""

    def publish(self, name: str, parts: list[Path], prefix: bytes = b"") -> Artifact:
        """Join ``prefix`` and ``parts`` into a new file, all or nothing; see ``publishing.publish``."""

    def version(self, name: str) -> str:
        """Of a file in a store, to be given to ``replace``; empty on a disk, and where there is none."""

    def replace(self, name: str, version: str, parts: list[Path], prefix: bytes = b"") -> Artifact:
        """``publish`` in the place of a file; in a store, only while it has this version."""

    def swap(self, name: str, data: bytes, before: bytes | None) -> None:
        """Replace the small file that holds ``before`` (``None``: that is not there) by ``data``, all or nothing.

        Raises ``StorageError`` when another run was first, unless it wrote the same.
        """

    def remove(self, name: str) -> None:
        """Remove a file; one that is not there is fine."""

    def sweep(self) -> int:
        """Remove what runs that were killed left behind; returns how many files."""

    def free_bytes(self) -> int | None:
        """Space that is left, ``None`` where there is no limit to speak of."""

    def where(self, name: str) -> str:
        """The URI of a file."""


def at(uri: str | Path) -> Place:
    """The place with this URI: a path, ``file:///path`` or ``s3://bucket/prefix``.

    Raises ``ConfigError`` for any other scheme.
    """
    text = str(uri)
    return _Bucket(text.rstrip("/")) if is_remote(text) else _Folder(disk.local(text))


def absolute(uri: str) -> str:
    """The URI as it is from every folder."""
    return uri if is_remote(uri) else str(disk.local(uri).absolute())


def lies_in(uri: str, folder: str) -> bool:
    """Whether a file is somewhere beneath a folder; links are followed."""
    if "://" in uri.removeprefix("file://") or is_remote(folder):
        return uri.startswith(f"{folder}/")
    return disk.local(uri).resolve().is_relative_to(disk.local(folder).resolve())


def is_remote(uri: str) -> bool:
    """Whether files there must be brought to this machine to be read."""
    return uri.startswith("s3://")


def is_elsewhere(uri: str) -> bool:
    """Whether bytes must be moved over a network to be there, whatever the protocol."""
    return "://" in uri and not uri.startswith("file://")


def spool() -> Path:
    """Where copies of remote files are."""
    return Path(os.environ.get(SPOOL) or Path.home() / ".cache" / "gristmill")


def spooled(uri: str) -> Path:
    """The path on this machine of a file or folder of the work area: itself, or its place in the spool."""
    if not is_remote(uri):
        return disk.local(uri)
    return spool() / "work" / uri.removeprefix("s3://")


def here(artifact: Artifact) -> Path:
    """The file of an artifact on this machine; fetched, and compared with its sha256, where it is not.

    Raises ``StorageError`` when the store has other bytes.
    """
    path = spooled(artifact.uri)
    if is_remote(artifact.uri) and not _is_copy(path, artifact.nbytes, artifact.sha256):
        disk.make_folder(path.parent)
        s3.download(artifact.uri, path, nbytes=artifact.nbytes, sha256=artifact.sha256)
    return path


def _is_copy(path: Path, nbytes: int, sha256: str) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return found.st_size == nbytes and _digest(path, found.st_mtime_ns, found.st_ino) == sha256


@lru_cache(maxsize=1 << 16)
def _digest(path: Path, _mtime: int, _inode: int) -> str:
    return disk.digest(path)


class _Folder:
    def __init__(self, root: Path) -> None:
        self.uri = str(root)
        self._root = root

    def has(self, name: str) -> bool:
        with disk.translated(self._root / name):
            return (self._root / name).is_file()

    def read(self, name: str) -> bytes:
        with disk.translated(self._root / name):
            return (self._root / name).read_bytes()

    def names(self, folder: str = "") -> list[str]:
        found = []
        for parent, folders, files in os.walk(self._root / folder, onerror=_unless_gone):
            folders[:] = [inner for inner in folders if not inner.startswith(disk.TEMPORARY)]
            found += [Path(parent) / name for name in files if not name.startswith(disk.TEMPORARY)]
        return sorted(path.relative_to(self._root).as_posix() for path in found if path.is_file())

    def entries(self) -> dict[str, disk.Entry]:
        found = {}
        for name in self.names():
            with contextlib.suppress(FileNotFoundError):  # a run may be at work
                status = (self._root / name).stat()
                found[name] = disk.Entry(nbytes=status.st_size, modified=status.st_mtime)
        return found

    def path(self, name: str) -> Path:
        return self._root / name

    def folder(self, name: str) -> Path:
        return self._root / name

    @contextmanager
    def fresh(self, name: str) -> Iterator[Path]:
        yield self._root / name

    def publish(self, name: str, parts: list[Path], prefix: bytes = b"") -> Artifact:
        return publishing.publish(parts, self._root / name, prefix)

    def version(self, name: str) -> str:
        return ""

    def replace(self, name: str, version: str, parts: list[Path], prefix: bytes = b"") -> Artifact:
        return publishing.replace(parts, self._root / name, prefix)

    def swap(self, name: str, data: bytes, before: bytes | None) -> None:
        disk.swap(self._root / name, data, before)

    def remove(self, name: str) -> None:
        with disk.translated(self._root / name):
            (self._root / name).unlink(missing_ok=True)

    def sweep(self) -> int:
        return disk.sweep(self._root.rglob(f"{disk.TEMPORARY}*"))

    def free_bytes(self) -> int | None:
        return disk.free_bytes(self._root)

    def where(self, name: str) -> str:
        return str(self._root / name)


def _unless_gone(error: OSError) -> None:
    """A folder may be removed while a listing goes on; one that cannot be read must not count as empty."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise StorageError(f"{error.filename}: {error.strerror}")


class _Bucket:
    def __init__(self, uri: str) -> None:
        self.uri = uri

    def where(self, name: str) -> str:
        return f"{self.uri}/{name}" if name else self.uri

    def has(self, name: str) -> bool:
        return s3.stat(self.where(name)) is not None

    def read(self, name: str) -> bytes:
        return s3.read(self.where(name))

    def names(self, folder: str = "") -> list[str]:
        prefix = f"{folder}/" if folder else ""
        return [prefix + listed.name for listed in s3.names(f"{self.where(folder)}/")]

    def entries(self) -> dict[str, disk.Entry]:
        return {
            listed.name: disk.Entry(nbytes=listed.nbytes, modified=listed.modified.timestamp())
            for listed in s3.names(f"{self.uri}/")
        }

    def path(self, name: str) -> Path:
        found = s3.stat(self.where(name))
        if found is None:
            raise ConfigError(f"{self.where(name)}: no such object")
        return self._copied(name, [(name, found.nbytes, found.etag)]) / Path(name).name

    def folder(self, name: str) -> Path:
        listed = [entry for entry in s3.names(f"{self.where(name)}/") if "/" not in entry.name]
        return self._copied(name, [(f"{name}/{entry.name}", entry.nbytes, entry.etag) for entry in listed])

    def _copied(self, name: str, files: list[tuple[str, int, str]]) -> Path:
        """A folder of copies that is named by the ETags of the originals."""
        key = hashlib.sha256(repr((self.uri, name, files)).encode()).hexdigest()[:32]
        final = spool() / COPIES / key
        if final.is_dir():
            return final
        temporary = final.with_name(disk.temporary(key))
        disk.make_folder(temporary)
        try:
            for file, nbytes, _ in files:
                _bring(self.where(file), temporary / Path(file).name, nbytes)
            with disk.translated(final):
                try:
                    temporary.rename(final)
                except OSError:
                    if not final.is_dir():  # another process was first
                        raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return final

    @contextmanager
    def fresh(self, name: str) -> Iterator[Path]:
        disk.make_folder(spool())
        with tempfile.TemporaryDirectory(prefix=disk.temporary("fresh-"), dir=spool()) as folder:
            path = Path(folder) / Path(name).name
            found = s3.stat(self.where(name))
            if found is not None:
                _bring(self.where(name), path, found.nbytes)
            yield path

    def publish(self, name: str, parts: list[Path], prefix: bytes = b"") -> Artifact:
        return self._put(name, parts, prefix, None)

    def version(self, name: str) -> str:
        found = s3.stat(self.where(name))
        return "" if found is None else found.etag

    def replace(self, name: str, version: str, parts: list[Path], prefix: bytes = b"") -> Artifact:
        return self._put(name, parts, prefix, version or None)

    def _put(self, name: str, parts: list[Path], prefix: bytes, replaced: str | None) -> Artifact:
        disk.make_folder(spool())
        with tempfile.TemporaryDirectory(prefix=disk.temporary("publish-"), dir=spool()) as folder:
            path = Path(folder) / Path(name).name
            built = publishing.publish(parts, path, prefix)
            stored = s3.put_new(path, self.where(name), built.sha256, replaced=replaced)
        return Artifact(uri=self.where(name), sha256=built.sha256, nbytes=built.nbytes, etag=stored.etag)

    def swap(self, name: str, data: bytes, before: bytes | None) -> None:
        uri = self.where(name)
        found = s3.stat(uri)
        there = None if found is None else s3.read(uri)
        if there not in (before, data):
            raise StorageError(f"{uri}: changed by another run")
        s3.swap(uri, data, None if found is None else found.etag)

    def remove(self, name: str) -> None:
        s3.remove(self.where(name))

    def sweep(self) -> int:
        return sum(disk.sweep(folder.glob(f"{disk.TEMPORARY}*")) for folder in (spool(), spool() / COPIES))

    def free_bytes(self) -> int | None:
        return None


def _bring(uri: str, path: Path, nbytes: int) -> None:
    with disk.Writer(path) as out:
        for block in s3.blocks(uri):
            out.write(block)
        if out.nbytes != nbytes:
            raise StorageError(f"{uri}: {out.nbytes} bytes; was listed with {nbytes}")
