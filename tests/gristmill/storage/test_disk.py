"""Files that are there wholly or not at all."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from full_disk import files_end_at
from pyarrow import ipc

from gristmill.errors import ConfigError, NoSpaceError, StorageError
from gristmill.storage import disk


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run(program: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE)


def test_a_written_file_is_what_its_artifact_says(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "data"
    artifact = disk.write(path, b"some bytes")
    assert path.read_bytes() == b"some bytes"
    assert artifact.nbytes == 10
    assert artifact.sha256 == hashlib.sha256(b"some bytes").hexdigest() == disk.digest(path)
    assert artifact.uri == str(path)
    assert names(path.parent) == ["data"]


def test_every_kind_of_buffer_is_counted_in_bytes(tmp_path: Path) -> None:
    """Arrow hands over memoryviews whose length is not their number of bytes."""
    with disk.Writer(tmp_path / "x") as out:
        out.write(bytearray(b"ab"))
        out.write(memoryview(b"\x01\x00\x02\x00").cast("H"))
        out.write(pa.py_buffer(b"cd"))
        assert out.tell() == 8
    assert (tmp_path / "x").read_bytes() == b"ab\x01\x00\x02\x00cd"
    assert out.artifact.sha256 == disk.digest(tmp_path / "x")


def test_nothing_has_the_final_name_before_close(tmp_path: Path) -> None:
    """A reader that globs the folder must never open half a file."""
    with disk.Writer(tmp_path / "x.bin") as out:
        out.write(b"half" * 100_000)
        assert not (tmp_path / "x.bin").exists()
        assert all(name.startswith(disk.TEMPORARY) for name in names(tmp_path))
    assert names(tmp_path) == ["x.bin"]


def test_an_error_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with disk.Writer(tmp_path / "x") as out:
            out.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert names(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from gristmill.storage import disk
out = disk.Writer(Path(sys.argv[1]))
out.write(b"half" * 1_000_000)
if sys.argv[2] == "renaming":
    os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
    out.close()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("moment", ["writing", "renaming"])
def test_kill_9_leaves_nothing_under_the_final_name(tmp_path: Path, moment: str) -> None:
    """A half file that looks whole would be trained on."""
    with run(KILLED, tmp_path / "x", moment) as process:
        assert process.wait() == -signal.SIGKILL
    (left,) = names(tmp_path)
    assert left == disk.temporary("x", process.pid)
    disk.write(tmp_path / "x", b"whole")
    assert (tmp_path / "x").read_bytes() == b"whole"


@pytest.mark.parametrize("piece", [1 << 10, 1 << 20])
def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path: Path, piece: int) -> None:
    """Small pieces fail when they are flushed, large ones at once: both must end in our error and a clean folder."""
    path = tmp_path / "train.bin"

    def fill() -> None:
        with disk.Writer(path) as out:
            for _ in range(200):
                out.write(b"x" * piece)

    with files_end_at(100_000), pytest.raises(NoSpaceError, match=r"train\.bin: no space left"):
        fill()
    assert names(tmp_path) == []


def test_a_disk_that_fills_at_the_last_flush_leaves_nothing(tmp_path: Path) -> None:
    """Closing writes what was buffered: it can be the first call to fail."""
    with files_end_at(10), pytest.raises(NoSpaceError, match="report"):
        disk.write(tmp_path / "report", b"x" * 100)
    assert names(tmp_path) == []


def test_a_full_disk_is_told_through_arrow(tmp_path: Path) -> None:
    """Arrow calls the writer from C++: the error must come back as ours, not as one of Arrow's."""
    batch = pa.record_batch([pa.array([b"x" * 1000] * 1000)], ["text"])

    def fill() -> None:
        with disk.Writer(tmp_path / "documents.arrow") as out, ipc.new_file(out, batch.schema) as writer:
            writer.write_batch(batch)

    with files_end_at(100_000), pytest.raises(NoSpaceError, match=r"documents\.arrow"):
        fill()
    assert names(tmp_path) == []


def test_local_takes_paths_and_file_uris_only() -> None:
    """Half of s3://bucket/x must not become a folder named s3:."""
    assert disk.local("a/b") == Path("a/b")
    assert disk.local("file:///a/b") == Path("/a/b")
    with pytest.raises(ConfigError, match=r"s3://bucket/x: .*file:///folder"):
        disk.local("s3://bucket/x")


@pytest.mark.parametrize("place", ["taken", "taken/below"])
def test_a_folder_where_a_file_stands_is_the_users_to_mend(tmp_path: Path, place: str) -> None:
    """Retrying would never help: the error must be one that is not retried."""
    (tmp_path / "taken").write_bytes(b"")
    with pytest.raises(ConfigError, match="taken"):
        disk.make_folder(tmp_path / place)


def test_a_missing_file_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nothing-here"):
        disk.digest(tmp_path / "nothing-here")


def test_free_space_is_known_before_folders_exist(tmp_path: Path) -> None:
    """The plan asks for the space before anything is made."""
    assert disk.free_bytes(tmp_path / "not" / "yet") == pytest.approx(disk.free_bytes(tmp_path), rel=0.1)
    assert disk.free_bytes(Path("not-yet-here")) > 0
    assert not os.path.lexists("not-yet-here")
