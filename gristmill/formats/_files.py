"""What several formats do alike: where files are cut, raw ids read and rewritten, rows taken out of a stream."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from gristmill.errors import VerificationError
from gristmill.formats.base import OutputFile, Packed, Stream, raw_blocks
from gristmill.storage import disk


def cut(
    streams: dict[str, Stream], edges: Callable[[Stream], list[int]], path: Callable[[str, int], str]
) -> list[OutputFile]:
    """A file between any two edges of each stream; its path is made from the split and its number in it."""
    return [
        OutputFile(path=path(split, number), split=split, start=start, stop=stop)
        for split, stream in streams.items()
        for number, (start, stop) in enumerate(itertools.pairwise(edges(stream)))
    ]


def generation_folder(generation: int) -> str:
    """Where the files of a generation are whose reader wants one index over everything: empty, then ``g00002/``."""
    return "" if generation == 1 else f"g{generation:05d}/"


def exact_cuts(length: int, size: int, least: int = 0) -> list[int]:
    """Edges of files of exactly ``size`` ids; a last one of fewer than ``least`` joins the one before it."""
    edges = [*range(0, length, size), length]
    if len(edges) > 2 and length - edges[-2] < least:
        del edges[-2]
    return edges


def document_cuts(stream: Stream, size: int) -> list[int]:
    """Edges of files of at most ``size`` ids that no document crosses; a longer document has a file of its own."""
    edges = [0]
    while (start := edges[-1]) < stream.length:
        stop = stream.start_before(min(start + size, stream.length))
        edges.append(stop if stop > start else stream.start_after(start + 1))
    return edges


def checked_blocks(path: Path, dtype: np.dtype, offset: int = 0) -> Iterator[np.ndarray]:
    """The ids of a raw file after ``offset`` bytes. Raises ``VerificationError`` where an id is cut."""
    size = path.stat().st_size - offset
    if size < 0 or size % dtype.itemsize:
        raise VerificationError(f"{path}: {size} bytes is no whole number of {dtype.name} tokens; the file is cut")
    return raw_blocks(path, dtype, offset)


def written(path: Path, blocks: Iterable[bytes | memoryview]) -> Path:
    """Put blocks of bytes into a file."""
    with disk.Writer(path) as out:
        for block in blocks:
            out.write(block)
    return path


def converted(packed: Packed, folder: Path, dtype: np.dtype) -> list[Path]:
    """The packed ids as files of another type; those that have it already are left where they are."""
    if packed.dtype == dtype:
        return packed.ids
    return [written(folder / "ids", (block.astype(dtype).data.cast("B") for block in packed.blocks()))]


def rows(blocks: Iterable[np.ndarray], length: int) -> Iterator[np.ndarray]:
    """Tables of whole rows of ``length`` ids; what is left at the end makes no row."""
    rest = np.empty(0, np.int64)
    for block in blocks:
        ids = np.concatenate([rest.astype(block.dtype), block])
        whole = len(ids) // length * length
        if whole:
            yield ids[:whole].reshape(-1, length)
        rest = ids[whole:]


def document_rows(packed: Packed, count: int) -> Iterator[list[np.ndarray]]:
    """The ids of each document, EOT included, ``count`` documents at a time; the last time fewer. Documents must not be
    cut."""
    blocks = packed.blocks()
    rest = np.empty(0, packed.dtype)
    found: list[np.ndarray] = []
    for length in itertools.chain.from_iterable(lengths.tolist() for lengths in packed.lengths()):
        while len(rest) < length:
            rest = np.concatenate([rest, next(blocks)])
        found.append(rest[:length])
        rest = rest[length:]
        if len(found) == count:
            yield found
            found = []
    if found:
        yield found


def document_ends(packed: Packed) -> Iterator[np.ndarray]:
    """int64: where each document ends in the file, in ids, some thousand at a time."""
    total = 0
    for lengths in packed.lengths():
        ends = np.cumsum(lengths) + total
        total = int(ends[-1])
        yield ends


def quoted(text: str) -> str:
    """A string for YAML and for a shell's arguments in double quotes."""
    return json.dumps(text)
