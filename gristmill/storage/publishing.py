"""Files that come to an output: joined, synced, read back, and given their name in one step."""

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from pathlib import Path

from gristmill.errors import OccupiedError, StorageError
from gristmill.storage import disk
from gristmill.storage.background import beside
from gristmill.types import Artifact


def publish(parts: list[Path], target: Path, prefix: bytes = b"") -> Artifact:
    """Join ``prefix`` and ``parts`` into ``target``: written beside it, synced, read back and hashed, then named.

    Never replaces a file: a target that holds the same bytes is left alone, so a repeated publish is harmless. Raises
    ``OccupiedError`` when it holds others, ``StorageError`` when the disk gives back something else than was written.
    """
    return _put(parts, target, prefix, _name)


def replace(parts: list[Path], target: Path, prefix: bytes = b"") -> Artifact:
    """The same in the place of the file that is there."""
    return _put(parts, target, prefix, lambda made, target, _: made.replace(target))


def _put(parts: list[Path], target: Path, prefix: bytes, name: Callable[[Path, Path, str], object]) -> Artifact:
    disk.make_folder(target.parent)
    made = target.with_name(disk.temporary(target.name))
    with disk.translated(target):
        expected = len(prefix) + sum(part.stat().st_size for part in parts)
        try:
            # The parts are read twice, which takes a tenth of the time that waiting for either hash would.
            with beside(partial(_sum, _joined(prefix, parts)), expected) as given:
                found = _written(_joined(prefix, parts), made, expected)
            if found != given.result():
                raise StorageError(f"{target}: read back with sha256 {found}, wrote {given.result()}")
            artifact = Artifact(uri=str(target), sha256=found, nbytes=made.stat().st_size)
            name(made, target, found)
            disk.sync_folder(target.parent)
        finally:
            made.unlink(missing_ok=True)
    return artifact


def _joined(prefix: bytes, parts: list[Path]) -> Iterable[bytes]:
    return chain([prefix], disk.blocks(parts))


def _sum(blocks: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for block in blocks:
        found.update(block)
    return found.hexdigest()


def _written(blocks: Iterable[bytes], path: Path, expected: int) -> str:
    """Put blocks into a file and onto the disk; returns the sha256 of what is read back."""
    with path.open("wb") as file:
        file.writelines(blocks)
        file.flush()
        # Reading during the sync proves as much as after it: both times the system reads its own memory.
        with beside(partial(os.fsync, file.fileno()), expected):
            return disk.digest(path)


def _name(made: Path, target: Path, sha256: str) -> None:
    """Give a file with this sha256 its final name if no file has it; one with equal bytes is as good."""
    try:
        os.link(made, target)
    except FileExistsError:
        if disk.digest(target) != sha256:
            raise OccupiedError(
                f"{target} exists with other bytes; choose another --output, or remove that data set"
            ) from None
