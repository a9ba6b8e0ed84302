"""Bytes of a file, decompressed, a bounded piece at a time.

How a file is compressed is read from its first bytes. Every stream must end where its format says it ends: a file that
was cut, or whose checksum is wrong, is an error, never a short file.
"""

import bz2
import io
import logging
import lzma
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO, Protocol

import zstandard
from isal import igzip_lib

from gristmill.errors import InputError, StorageError
from gristmill.sources._limits import RATIO_FREE_BYTES, Limits
from gristmill.sources._names import looks_compressed
from gristmill.types import Value

PIECE = 1 << 20
"""Bytes per read and most bytes per decompressed piece."""

COMPRESSED_PIECE = 1 << 17
"""Bytes of compressed input per step: what follows a member is copied once a member, so files of many small members
want it short."""

_ISAL_ERROR: type[Exception] = igzip_lib.IsalError  # type: ignore[assignment]  # declared as an instance
_XZ_BESIDE = 1 << 20
"""Memory of an xz decoder besides its dictionary."""
_ZSTD_HEADER = 18
_ZSTD_STEP = 1 << 11
"""Bytes of compressed input at a time: 4 bytes may become 128 KB, so the most that comes out is 64 MB."""
_BZ2_BLOCKS = (b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90")
_SKIPPABLE = b"\x2a\x4d\x18"
_MAGIC = {b"\x1f\x8b\x08": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz", b"BZh": "bz2"}
_BINARY = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
"""Bytes that text does not hold and almost every compressed header or block does."""

_FOREIGN_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
UTF8_MARK = b"\xef\xbb\xbf"

logger = logging.getLogger(__name__)


class Raw(io.RawIOBase):
    """An open input file that knows its name and how far it was read. Failures to read are ``StorageError``."""

    def __init__(self, file: BinaryIO, uri: str, failures: tuple[type[Exception], ...] = (OSError,)) -> None:
        self._file, self.uri, self._failures = file, uri, failures
        self._head = b""
        self.position = 0
        """Offset in the stored file of the next byte."""

    def read(self, size: int = -1, /) -> bytes:
        head, self._head = (self._head[:size], self._head[size:]) if size >= 0 else (self._head, b"")
        data = head or self._attempt(lambda: self._file.read(size))
        self.position += len(data)
        return data

    def peek(self, size: int) -> bytes:
        """The next bytes without moving on; fewer than ``size`` only at the end of the file."""
        while len(self._head) < size and (more := self._attempt(lambda: self._file.read(size - len(self._head)))):
            self._head += more
        return self._head[:size]

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._head = b""
        self.position = self._attempt(lambda: self._file.seek(offset, whence))
        return self.position

    def tell(self) -> int:
        return self.position

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def close(self) -> None:
        self._file.close()
        super().close()

    def _attempt(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except self._failures as error:
            # without the cause: clients name the whole address in it
            raise StorageError(f"{self.uri}: reading failed at byte {self.position}: {error}") from None


class Text(Value, frozen=True, kw_only=True):
    """A stream that should be UTF-8 text."""

    start: int
    """Offset of its first byte in the decompressed file: 3 after a byte order mark."""
    pieces: Iterator[bytes]


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _TooWide(Exception):
    """A frame asks for a window of so many bytes."""

    def __init__(self, window: int) -> None:
        super().__init__(window)
        self.window = window


class _Zstd:
    """One frame of zstd, with the manners of the standard library's decompressors: it gives out what it has, a bounded
    piece at a time, and knows whether its frame has ended."""

    def __init__(self, window: int) -> None:
        self._frame = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()
        self._head = b""
        self._rest = memoryview(b"")

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def needs_input(self) -> bool:
        return not self._rest

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data) + bytes(self._rest)

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        self._head = (self._head + data[:_ZSTD_HEADER])[:_ZSTD_HEADER]
        self._rest = self._rest or memoryview(data)
        found: list[bytes] = []
        try:
            while self._rest and not self.eof and sum(map(len, found)) < max_length:
                step, self._rest = self._rest[:_ZSTD_STEP], self._rest[_ZSTD_STEP:]
                found.append(self._frame.decompress(step))
        except zstandard.ZstdError as error:
            if "too much memory" not in str(error):
                raise
            raise _TooWide(zstandard.get_frame_parameters(self._head).window_size) from error
        return b"".join(found)


def _makers(window: int) -> dict[str, Callable[[], _Decompressor]]:
    return {
        "gzip": lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP),
        "bz2": bz2.BZ2Decompressor,
        "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=window + _XZ_BESIDE),
        "zstd": lambda: _Zstd(window),
    }


def text_of(raw: Raw, limits: Limits) -> Text:
    """The decompressed file as text.

    Raises ``InputError`` ``unsupported_encoding``, ``truncated_stream``, ``corrupt_stream`` and ``limit``: at once for
    what the first piece shows, else while it is read.
    """
    return unmarked(_bounded(_decompressed(raw, limits.window_bytes), raw, limits), raw.uri)


def unmarked(pieces: Iterator[bytes], uri: str) -> Text:
    """A stream from the start of a file without its byte order mark; raises ``unsupported_encoding`` when that is the
    mark of UTF-16 or UTF-32."""
    head = b""
    while len(head) < 4 and (piece := next(pieces, b"")):
        head += piece
    if head.startswith(_FOREIGN_MARKS):
        raise InputError(
            f"{uri}: starts with the mark of UTF-16 or UTF-32; convert it to UTF-8", "unsupported_encoding"
        )
    start = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
    return Text(start=start, pieces=chain([head[start:]], pieces))


def codec_of(head: bytes) -> str:
    """``gzip``, ``zstd``, ``xz``, ``bz2`` or ``plain``, from at least the first 10 bytes of a file."""
    if head[1:4] == _SKIPPABLE and 0x50 <= head[0] <= 0x5F:
        return "zstd"  # a frame to be skipped, which parallel compressors write first
    if head.startswith(b"BZh") and not any(block.startswith(head[4:10]) for block in _BZ2_BLOCKS):
        return "plain"
    return next((codec for magic, codec in _MAGIC.items() if head.startswith(magic)), "plain")


def _decompressed(raw: Raw, window: int) -> Iterator[bytes]:
    codec = codec_of(raw.peek(16))
    if codec == "plain":
        _check_plain(raw)
        yield from iter(lambda: raw.read(PIECE), b"")
        return
    if not looks_compressed(raw.uri):
        logger.warning("%s holds %s data though its name does not say so; it is decompressed", raw.uri, codec)
    try:
        yield from _members(raw, _makers(window)[codec])
    except EOFError:
        message = f"{raw.uri}: the {codec} stream is cut: the file ends at byte {raw.position} before the stream does"
        raise InputError(message, "truncated_stream") from None
    except (OSError, _ISAL_ERROR, lzma.LZMAError, zstandard.ZstdError, _TooWide) as error:
        asked = error.window if isinstance(error, _TooWide) else window if "Memory usage limit" in str(error) else 0
        if asked:
            raise _too_wide(raw, codec, asked, window) from error
        message = f"{raw.uri}: the {codec} stream is damaged at or before byte {raw.position} of the file: {error}"
        raise InputError(message, "corrupt_stream") from error


def _too_wide(raw: Raw, codec: str, asked: int, window: int) -> InputError:
    what = f"a window of {asked} bytes" if codec == "zstd" else f"a dictionary of more than {asked} bytes"
    return InputError(
        f"{raw.uri}: the {codec} stream needs {what} to be read; raise limits.window_bytes (now {window}): each worker "
        "that reads such a file then takes as much memory",
        "limit",
    )


def _check_plain(raw: Raw) -> None:
    """A name that ends in .gz over bytes that are not gzip: an upload that failed, or damage. Text is taken as it is:
    some clients decompress on download and keep the name."""
    if not looks_compressed(raw.uri):
        return
    head = raw.peek(4096)
    if any(magic.startswith(head) for magic in (*_MAGIC, b"\x50" + _SKIPPABLE)):
        message = f"{raw.uri}: the compressed stream is cut: the file ends at byte {len(head)}"
        raise InputError(message, "truncated_stream")
    if len(head.translate(None, _BINARY)) < len(head) and not head.startswith(_FOREIGN_MARKS):
        message = f"{raw.uri}: starts with neither a gzip, zstd, bz2 or xz header nor text (byte 0)"
        raise InputError(message, "corrupt_stream")


def _members(raw: Raw, new: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Every member or frame of a file; zeros between and after members are padding."""
    decoder: _Decompressor | None = None
    while data := raw.read(COMPRESSED_PIECE):
        while data or (decoder is not None and not decoder.needs_input):
            if decoder is None:
                data = data.lstrip(b"\0")
                if not data:
                    break
                decoder = new()
            if out := decoder.decompress(data, PIECE):
                yield out
            data = b""
            if decoder.eof:
                data, decoder = decoder.unused_data, None
    if decoder is not None:
        raise EOFError


def _bounded(pieces: Iterator[bytes], raw: Raw, limits: Limits) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > limits.file_bytes:
            raise InputError(f"{raw.uri}: more than {limits.file_bytes} bytes (limits.file_bytes)", "limit")
        if total > RATIO_FREE_BYTES and total > limits.ratio * raw.position:
            message = f"{raw.uri}: {total} bytes came out of {raw.position}: over {limits.ratio} to 1 (limits.ratio)"
            raise InputError(message, "limit")
        yield piece
