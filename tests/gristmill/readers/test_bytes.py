"""Parts of files: the bytes that were asked for, few requests, little memory, damage found."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from manifests import token_file
from msgspec.structs import replace
from object_store import Bucket
from reader_sets import published

from gristmill.errors import StorageError
from gristmill.readers import _bytes
from gristmill.readers._bytes import Opened, parts_in
from gristmill.readers.documents import Documents
from gristmill.readers.loader import Loader
from gristmill.readers.windows import Windows
from gristmill.stages.output.recount import BLOCK_BYTES, block_digests
from gristmill.storage import s3
from gristmill.types import PublishedFile


def stored(folder: Path, size: int) -> tuple[bytes, PublishedFile]:
    data = np.random.default_rng(size).bytes(size)
    (folder / "x.bin").write_bytes(data)
    return data, token_file(path="x.bin", bytes=size, block_bytes=BLOCK_BYTES, blocks=block_digests(folder / "x.bin"))


def test_parts_here_are_those_of_the_file(tmp_path: Path) -> None:
    data, file = stored(tmp_path, 5000)
    parts = parts_in(str(tmp_path))
    assert parts.read(file, 10, 20) == data[10:20]
    assert parts.read(file, 4999, 5000) == data[4999:]
    opened = Opened(parts, file)
    opened.seek(-7, io.SEEK_END)
    assert opened.read() == data[-7:]
    assert opened.read() == b""
    opened.seek(0)
    assert opened.read() == data


def test_only_some_files_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set has thousands of files and a process may open a thousand."""
    monkeypatch.setattr(_bytes, "OPEN_FILES", 3)
    files = [token_file(path=f"{number}", bytes=2) for number in range(8)]
    for number, file in enumerate(files):
        (tmp_path / file.path).write_bytes(bytes([number, 0]))
    parts = parts_in(str(tmp_path))
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert [parts.read(files[n], 0, 1)[0] for n in (0, 1, 2, 3, 4, 5, 6, 7, 0, 7, 1)] == [
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        0,
        7,
        1,
    ]
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 3
    del parts
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_parts_of_objects_are_read_once_checked_and_forgotten(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request a block, whatever is read of it; the blocks in memory are bounded."""
    data, file = stored(tmp_path, 5 * BLOCK_BYTES // 2)
    bucket.put("set/x.bin", data)
    asked: list[int] = []
    blocks = s3.blocks

    def counted(uri: str, start: int, stop: int) -> Iterator[bytes]:
        asked.append(start // BLOCK_BYTES)
        return blocks(uri, start, stop)

    monkeypatch.setattr(s3, "blocks", counted)
    monkeypatch.setattr(_bytes, "MEMORY_BYTES", 2 * BLOCK_BYTES)
    parts = parts_in(f"{bucket.uri}/set")
    parts.expect(file, 0, 10)
    for start in (0, 100, BLOCK_BYTES - 50, BLOCK_BYTES):
        assert parts.read(file, start, start + 100) == data[start : start + 100]
    assert asked == [0, 1]
    assert parts.read(file, len(data) - 9, len(data)) == data[-9:]
    assert parts.read(file, 0, 9) == data[:9]
    assert asked == [0, 1, 2, 0]
    bucket.put("set/x.bin", data[:5] + b"?" + data[6:])
    with pytest.raises(StorageError, match=r"x\.bin: bytes from 0 on have xxh3"):
        parts_in(f"{bucket.uri}/set").read(file, 0, 9)
    with pytest.raises(StorageError, match=r"expected 3145728 or more"):
        parts_in(f"{bucket.uri}/set").read(replace(file, bytes=3 * BLOCK_BYTES), 2 * BLOCK_BYTES, 3 * BLOCK_BYTES)


def test_a_data_set_in_an_object_store_reads_as_it_does_here(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows and documents, tombstones and label masks included, by ranges."""
    monkeypatch.setenv("GRISTMILL_SPOOL", str(tmp_path / "spool"))
    here = published(tmp_path / "set", [[(n % 3, 20 + n) for n in range(40)], [(3, 70)]], cut=300, removed=(1,), hide=3)
    for path in here.rglob("*"):
        if path.is_file():
            bucket.put(f"set/{path.relative_to(here).as_posix()}", path.read_bytes())
    for kind in (Windows, Documents):
        left, right = (Loader(kind(place, length=16), batch=7, seed=2) for place in (here, f"{bucket.uri}/set"))
        for _ in range(20):
            assert np.array_equal(left.next().labels(), right.next().labels())
        right.load_state_dict(left.state_dict())
        assert np.array_equal(left.next().y, right.next().y)
