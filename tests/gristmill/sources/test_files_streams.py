"""Compressed and encoded streams for ``files``: read whole or refused, never shortened in silence."""

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import read

from gristmill.errors import InputError, StorageError
from gristmill.sources._limits import Limits
from gristmill.sources._streams import Raw, text_of
from gristmill.sources.files import Files


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def zstd_with_skippable_frame(data: bytes) -> bytes:
    return b"\x50\x2a\x4d\x18\x04\0\0\0size" + zstd(data)


def gzip_with_name(data: bytes) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile("part.jsonl", "wb", fileobj=out, mtime=1) as file:
        file.write(data)
    return out.getvalue()


CODECS = [gzip.compress, gzip_with_name, zstd, zstd_with_skippable_frame, bz2.compress, lzma.compress]
SUFFIX = {gzip.compress: ".gz", gzip_with_name: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}
every_codec = pytest.mark.parametrize("compress", CODECS, ids=lambda codec: f"{codec.__module__}-{codec.__name__}")
Codec = Callable[[bytes], bytes]

ROWS = [{"text": f"row {n} of some length to fill a block " * (n % 5 + 1)} for n in range(60)]
DATA = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def text(stored: bytes, name: str, limits: Limits | None = None) -> bytes:
    """All that comes out of a file with these bytes."""
    return b"".join(text_of(Raw(io.BytesIO(stored), name), limits or Limits()).pieces)


def name_for(compress: Codec) -> str:
    return f"x.jsonl{SUFFIX.get(compress, '.zst')}"


@every_codec
def test_parts_in_sequence_are_all_read(tmp_path: Path, compress: Codec):
    """Parallel compressors and ``cat`` write several members or frames; many readers stop after the first."""
    lines = DATA.splitlines(keepends=True)
    stored = b"".join(compress(b"".join(lines[n : n + 20])) for n in (0, 20, 40)) + compress(b"")
    (tmp_path / name_for(compress).upper()).write_bytes(stored)
    assert read(Files(paths=[str(tmp_path)])).texts == [row["text"] for row in ROWS]


@every_codec
def test_every_cut_is_noticed(compress: Codec):
    """An upload that stopped at any byte must not pass for a shorter corpus."""
    stored = compress(DATA)
    for size in range(len(stored)):
        if compress is zstd_with_skippable_frame and size == 12:
            continue  # a whole frame: a sound stream of nothing
        with pytest.raises(InputError) as caught:
            text(stored[:size], name_for(compress))
        assert caught.value.reason == "truncated_stream", size
        assert f"ends at byte {size}" in str(caught.value)


@every_codec
def test_a_cut_in_a_later_part_is_noticed(compress: Codec):
    """bz2 and xz readers take what follows the first stream for garbage when it does not parse, and say nothing."""
    first, second = compress(DATA), compress(DATA)
    for size in (1, 2, 5, 8, len(second) // 2, len(second) - 1):
        with pytest.raises(InputError) as caught:
            text(first + second[:size], name_for(compress))
        assert caught.value.reason in ("truncated_stream", "corrupt_stream")
    with pytest.raises(InputError):
        text(first + b"garbage that is no member", name_for(compress))


@every_codec
def test_a_changed_byte_never_changes_the_text(compress: Codec):
    """Bit rot: either the checksum catches it, or the byte did not matter."""
    stored = compress(DATA)
    refused = 0
    for position in range(len(stored)):
        damaged = stored[:position] + bytes([stored[position] ^ 0x55]) + stored[position + 1 :]
        try:
            assert text(damaged, name_for(compress)) == DATA
        except InputError as error:
            refused += error.reason in ("truncated_stream", "corrupt_stream", "limit")
    assert refused > len(stored) * 0.8


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(CODECS), st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.integers(1, 50))
def test_short_reads_change_nothing(compress: Codec, parts: list[bytes], most: int):
    """A network gives as many bytes as it has, not as many as were asked for."""

    class Dribble(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(most if size is None or size < 0 else min(size, most))

    stored = b"".join(map(compress, parts))
    wanted = b"".join(parts)
    if not wanted.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        assert b"".join(text_of(Raw(Dribble(stored), name_for(compress)), Limits()).pieces) == wanted


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_zeros_after_the_last_member_are_padding(compress: Codec):
    assert text(compress(DATA) + bytes(4096), name_for(compress)) == DATA


def test_many_small_members_take_no_longer():
    """One member a document is legal; what follows a member must not be copied again and again."""
    assert text(gzip.compress(b'{"text": "a"}\n') * 20_000, "x.jsonl.gz").count(b"\n") == 20_000


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl.ZST", "x.txt.bz2", "x.json.xz"])
def test_nothing_under_a_compressed_name_is_a_failed_upload(name: str):
    with pytest.raises(InputError) as caught:
        text(b"", name)
    assert caught.value.reason == "truncated_stream"
    assert text(b"", name.rpartition(".")[0]) == b""


def test_text_under_a_compressed_name_is_text():
    """Clients that decompress while downloading keep the name."""
    assert text(DATA, "x.jsonl.gz") == DATA
    assert text(b"BZh is how this line starts\n", "x.txt") == b"BZh is how this line starts\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_other_encodings_are_one_clear_error(encoding: str, compress: Codec):
    """Not one quarantined line per row of the file."""
    with pytest.raises(InputError, match="convert it to UTF-8") as caught:
        text(compress("\ufeff{}\n".encode(encoding)), "x.jsonl.gz")
    assert caught.value.reason == "unsupported_encoding"


def test_a_byte_order_mark_is_no_text():
    stream = text_of(Raw(io.BytesIO(b"\xef\xbb\xbfa"), "x.txt"), Limits())
    assert (stream.start, b"".join(stream.pieces)) == (3, b"a")


def test_a_bomb_is_refused():
    """80 MB of zeros in a few kilobytes, and the next one of terabytes: stop before the disk is full."""
    bomb = pa.compress(bytes(80 << 20), "zstd", asbytes=True)
    with pytest.raises(InputError, match=r"limits\.ratio") as caught:
        text(bomb, "x.jsonl.zst")
    assert caught.value.reason == "limit"
    with pytest.raises(InputError, match=r"limits\.file_bytes"):
        text(gzip.compress(bytes(3 << 20)), "x.jsonl.gz", Limits(file_bytes=2 << 20))
    assert len(text(gzip.compress(bytes(3 << 20)), "x.jsonl.gz")) == 3 << 20


def long_zstd(data: bytes, window_log: int = 31) -> bytes:
    """As ``zstd --long=31`` writes it."""
    parameters = zstandard.ZstdCompressionParameters(window_log=window_log, compression_level=1)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return stream.compress(data) + stream.flush()


def long_xz(data: bytes) -> bytes:
    return lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}])


@pytest.mark.parametrize(
    ("compress", "name", "needs"),
    [(long_zstd, "x.jsonl.zst", "a window of 2147483648 bytes"), (long_xz, "x.jsonl.xz", "a dictionary of more than")],
)
def test_a_large_window_is_read_up_to_a_limit_that_is_named(compress: Codec, name: str, needs: str):
    """A sound dump of `zstd --long=31` was called damaged, and no key was there to raise. A frame may ask for gigabytes
    before it gives a byte, so there is a limit; it holds for every frame of a file."""
    small = zstd(DATA) if name.endswith("zst") else lzma.compress(DATA)
    for stored in (compress(DATA), small + compress(DATA), small + small + compress(DATA) + small):
        with pytest.raises(InputError, match=rf"needs {needs}.*limits\.window_bytes \(now 268435456\)") as caught:
            text(stored, name)
        assert caught.value.reason == "limit"
    assert text(small + compress(DATA) + small, name, Limits(window_bytes=1 << 31)) == DATA * 3


def test_a_window_above_128_mib_needs_no_setting():
    """The library's own limit, which nobody chose."""
    assert text(long_zstd(DATA, 28), "x.jsonl.zst") == DATA


def test_a_few_bytes_never_become_gigabytes_at_once():
    """128 KB of zstd may hold 4 GB of zeros: pieces stay small, so that a limit stops the file in time."""
    bomb = zstandard.ZstdCompressor(level=19).compress(bytes(300 << 20))
    assert len(bomb) < 1 << 15
    pieces = text_of(Raw(io.BytesIO(bomb), "x.jsonl.zst"), Limits(ratio=10**6)).pieces
    assert max(map(len, pieces)) <= 66 << 20


@pytest.mark.parametrize("stored", [DATA, gzip.compress(DATA), zstd(DATA)], ids=["plain", "gzip", "zstd"])
def test_a_failing_disk_is_not_a_damaged_file(stored: bytes):
    """Retried, where damage is not: an answer lost on the way must not put a sound file into quarantine."""

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= 216:
                raise OSError(5, "Input/output error")
            return super().read(min(size or 0, 200))

    with pytest.raises(StorageError, match=r"x\.jsonl: reading failed at byte 216"):
        b"".join(text_of(Raw(Failing(stored), "x.jsonl"), Limits()).pieces)
