"""Files that come to an output: joined, synced, read back, and named only where no file is."""

import errno
import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from full_disk import files_end_at

from gristmill.errors import ConfigError, NoSpaceError, StorageError
from gristmill.storage import disk
from gristmill.storage.background import WORTH_BYTES
from gristmill.storage.publishing import publish

SIZES = pytest.mark.parametrize("size", [WORTH_BYTES // 2, 2 * WORTH_BYTES + 5])
"""Hashed and synced in turn, and at once."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_publish_joins_prefix_and_parts(tmp_path: Path) -> None:
    parts = [tmp_path / "a", tmp_path / "b"]
    for part in parts:
        part.write_bytes(part.name.encode() * 3)
    artifact = publish(parts, tmp_path / "out" / "x.bin", b"head")
    assert (tmp_path / "out" / "x.bin").read_bytes() == b"headaaabbb"
    assert artifact.sha256 == hashlib.sha256(b"headaaabbb").hexdigest()
    assert names(tmp_path / "out") == ["x.bin"]


def test_publish_never_replaces_other_bytes(tmp_path: Path) -> None:
    """Two data sets told to use one folder: the first must survive, the second must say so."""
    target = tmp_path / "train.bin"
    target.write_bytes(b"precious")
    with pytest.raises(ConfigError, match=r"train\.bin exists with other bytes; choose another --output"):
        publish([], target, b"other")
    assert target.read_bytes() == b"precious"
    assert names(tmp_path) == ["train.bin"]


def test_publish_twice_leaves_the_file_alone(tmp_path: Path) -> None:
    """A resumed run publishes again: a file that a trainer has mapped must keep its inode."""
    target = tmp_path / "train.bin"
    first = publish([], target, b"bytes")
    inode = target.stat().st_ino
    assert publish([], target, b"bytes") == first
    assert target.stat().st_ino == inode
    assert names(tmp_path) == ["train.bin"]


def test_publish_of_a_missing_part_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="gone"):
        publish([tmp_path / "gone"], tmp_path / "out" / "x")
    assert names(tmp_path / "out") == []


@SIZES
def test_a_file_of_any_size_is_what_its_artifact_says(tmp_path: Path, size: int) -> None:
    """The sum is taken on another thread than the file is written on: it must be that of the whole."""
    data = os.urandom(size)
    parts = [tmp_path / "a", tmp_path / "b"]
    for part, piece in zip(parts, (data[: size // 3], data[size // 3 :]), strict=True):
        part.write_bytes(piece)
    artifact = publish(parts, tmp_path / "out" / "x", b"head")
    assert (tmp_path / "out" / "x").read_bytes() == b"head" + data
    assert (artifact.sha256, artifact.nbytes) == (hashlib.sha256(b"head" + data).hexdigest(), size + 4)
    assert artifact.uri == str(tmp_path / "out" / "x")


@SIZES
def test_a_byte_that_the_disk_changed_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Memory or a controller may flip a bit on the way to the disk: what is there must be read, not remembered."""
    digest = disk.digest

    def of_another(path: Path) -> str:
        with path.open("r+b") as file:
            file.seek(size // 2)
            file.write(b"y")
        return digest(path)

    monkeypatch.setattr(disk, "digest", of_another)
    with pytest.raises(StorageError, match=r"train\.bin: read back with sha256 [0-9a-f]{64}, wrote [0-9a-f]{64}"):
        publish([], tmp_path / "train.bin", b"x" * size)
    assert names(tmp_path) == []


@SIZES
def test_a_sync_that_fails_last_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """A file that was read back well from memory, and never reached the disk, must not get its name."""
    digest, read = disk.digest, threading.Event()

    def noticed(path: Path) -> str:
        found = digest(path)
        read.set()
        return found

    def failing(_: int) -> None:
        if size >= WORTH_BYTES:
            assert read.wait(60)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(disk, "digest", noticed)
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(StorageError, match=r"train\.bin: Input/output error"):
        publish([], tmp_path / "train.bin", b"x" * size)
    assert names(tmp_path) == []


@SIZES
def test_a_disk_that_fills_while_publishing_leaves_nothing(tmp_path: Path, size: int) -> None:
    """Neither half a file nor a thread that goes on reading: the same process tries again, or ends."""
    part = tmp_path / "part"
    part.write_bytes(b"x" * size)
    before = threading.active_count()
    with files_end_at(100_000), pytest.raises(NoSpaceError, match=r"train\.bin.*: no space left"):
        publish([part], tmp_path / "out" / "train.bin")
    assert names(tmp_path / "out") == []
    assert threading.active_count() == before


RACER = """
import sys
from pathlib import Path
from gristmill.errors import ConfigError
from gristmill.storage.publishing import publish
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    try:
        publish([], Path(sys.argv[1]) / str(number), sys.argv[2].encode() * 10_000)
    except ConfigError:
        print("refused", number, flush=True)
"""


@pytest.mark.parametrize("same", [True, False])
def test_two_processes_publish_the_same_target_at_once(tmp_path: Path, same: bool) -> None:
    """A retried task may run beside its first try: the file must be whole, one writer's, and the other must know."""
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [
        subprocess.Popen([*command, "a" if same else name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in ("a", "b")
    ]
    for racer in racers:
        assert racer.stdout is not None
        racer.stdout.readline()
    said = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(b"go\n")
        racer.stdin.flush()
    for racer in racers:
        said += racer.communicate()[0].split(b"\n")
        assert racer.returncode == 0
    contents = {path.read_bytes() for path in tmp_path.iterdir()}
    assert contents <= {b"a" * 10_000, b"b" * 10_000}
    assert len(names(tmp_path)) == 40
    assert len([line for line in said if line.startswith(b"refused")]) == (0 if same else 40)
