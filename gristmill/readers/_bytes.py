"""Parts of files, here or in an object store: what is read at random is read in few requests and little memory."""

import os
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from io import SEEK_CUR, SEEK_END, RawIOBase
from pathlib import Path
from typing import Any, Protocol

import xxhash

from gristmill.errors import InputError, StorageError
from gristmill.storage import disk, s3
from gristmill.storage.stores import is_remote
from gristmill.types import PublishedFile

OPEN_FILES = 64
MEMORY_BYTES = 256 << 20
"""Of parts of remote files kept for what is read next."""

REQUESTS = 16
"""To an object store at once: 1 MiB takes 20 to 100 ms there, so one alone gives 10 to 50 MB/s."""


class Parts(Protocol):
    """Where bytes of published files come from."""

    def read(self, file: PublishedFile, start: int, stop: int) -> bytes:
        """Bytes ``start`` to ``stop``, exclusive. Raises ``InputError`` when the file ends before."""

    def expect(self, file: PublishedFile, start: int, stop: int) -> None:
        """These will be read soon."""


def parts_in(output: str) -> Parts:
    """The parts of files of a folder or ``s3://`` prefix."""
    return _Remote(output.rstrip("/")) if is_remote(output) else _Local(disk.local(output))


class _Local:
    """Files read where they lie; mapping them would count every page that was touched against the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: OrderedDict[str, int] = OrderedDict()

    def read(self, file: PublishedFile, start: int, stop: int) -> bytes:
        path = self._folder / file.path
        with disk.translated(path):
            found = os.pread(self._descriptor(file.path), stop - start, start)
        if len(found) != stop - start:
            raise InputError(f"{path}: ends at byte {start + len(found)}; the manifest has {file.bytes} bytes")
        return found

    def expect(self, file: PublishedFile, start: int, stop: int) -> None:
        """The system reads ahead by itself."""

    def _descriptor(self, name: str) -> int:
        if name not in self._open:
            self._open[name] = os.open(self._folder / name, os.O_RDONLY)
            if len(self._open) > OPEN_FILES:
                os.close(self._open.popitem(last=False)[1])
        self._open.move_to_end(name)
        return self._open[name]

    def __del__(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)


class _Remote:
    """Blocks of objects, each held against the digest that the manifest has of it, the latest used ones kept."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._blocks: OrderedDict[tuple[str, int], Future[bytes]] = OrderedDict()
        self._pool = ThreadPoolExecutor(REQUESTS, "gristmill-read")

    def read(self, file: PublishedFile, start: int, stop: int) -> bytes:
        wanted = [self._block(file, number) for number in _covering(file, start, stop)]
        data = b"".join(block.result() for block in wanted)
        skip = start % file.block_bytes
        return data[skip : skip + stop - start]

    def expect(self, file: PublishedFile, start: int, stop: int) -> None:
        for number in _covering(file, start, stop):
            self._block(file, number)

    def _block(self, file: PublishedFile, number: int) -> "Future[bytes]":
        key = file.path, number
        found = self._blocks.get(key)
        if found is None or (found.done() and found.exception() is not None):  # a request that failed is made again
            self._blocks[key] = self._pool.submit(_fetched, f"{self._uri}/{file.path}", file, number)
            while len(self._blocks) > max(1, MEMORY_BYTES // file.block_bytes):
                self._blocks.popitem(last=False)[1].cancel()
        self._blocks.move_to_end(key)
        return self._blocks[key]

    def __del__(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _covering(file: PublishedFile, start: int, stop: int) -> range:
    return range(start // file.block_bytes, -(-stop // file.block_bytes))


def _fetched(uri: str, file: PublishedFile, number: int) -> bytes:
    start = number * file.block_bytes
    data = b"".join(s3.blocks(uri, start, min(file.bytes, start + file.block_bytes)))
    if (found := xxhash.xxh3_64_hexdigest(data)) != file.blocks[number]:
        raise StorageError(f"{uri}: bytes from {start} on have xxh3 {found}; the manifest has {file.blocks[number]}")
    return data


class Opened(RawIOBase):
    """A file for libraries that want one; reads what they ask for and no more."""

    def __init__(self, parts: Parts, file: PublishedFile) -> None:
        self._parts, self._file, self._position = parts, file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = offset + {SEEK_CUR: self._position, SEEK_END: self._file.bytes}.get(whence, 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self._file.bytes - self._position)
        buffer[:size] = self._parts.read(self._file, self._position, self._position + size) if size > 0 else b""
        self._position += max(0, size)
        return max(0, size)
