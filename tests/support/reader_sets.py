"""Data sets of a few documents for readers, written out by hand, and what a loader gave."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st
from manifests import manifest, source_shard, token_file, write_manifest

from gristmill.readers._samples import Read
from gristmill.readers.loader import Batch, Loader
from gristmill.stages.output.recount import block_digests
from gristmill.storage import disk
from gristmill.types import DOCUMENT, Boundary, Generation, LabelMask, PublishedFile

EOT = 0

Documents = list[tuple[int, int]]
"""Input shard and number of ids, EOT not counted, of each document."""

GENERATIONS = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 30)), min_size=1, max_size=25), min_size=1, max_size=3
)


def ids_of(generation: int, place: int, length: int) -> list[int]:
    """Ids that tell where they come from; ``EOT`` is none of them."""
    return [1 + (generation * 10_000 + place * 100 + number) % 60_000 for number in range(length)]


def streams(generations: list[Documents]) -> list[list[int]]:
    """The ids of each generation, EOT behind each document."""
    return [
        [token for place, (_, length) in enumerate(documents) for token in [*ids_of(number, place, length), EOT]]
        for number, documents in enumerate(generations)
    ]


def published(
    output: Path,
    generations: list[Documents],
    *,
    cut: int = 10**9,
    removed: tuple[int, ...] = (),
    hide: int = 0,
    **changes: Any,
) -> Path:
    """A data set whose generations lie in files of at most ``cut`` ids; shard ``n`` is of source ``s<n % 2>``. The
    documents of the shards ``removed`` stand in the tombstones of the last generation. Label masks hide the multiples
    of ``hide``; 0: there are none."""
    files: list[PublishedFile] = []
    spans: dict[str, list[list[int]]] = {}
    for number, (documents, stream) in enumerate(zip(generations, streams(generations), strict=True)):
        for low in range(0, len(stream), cut):
            file = _file(
                output, f"nanogpt/train-{number}-{low:05d}.bin", number + 1, documents, stream[low : low + cut], low
            )
            if hide:
                file = msgspec.structs.replace(file, mask=_mask(output, file.path, stream[low : low + cut], hide))
            files.append(file)
            spans[file.path] = _spans(documents, removed, low, low + file.tokens)
    made = [
        Generation(
            number=number + 1, code_version="0", config_fingerprint="f", shards=1, documents=1, tokens=1, removed=[],
            decided="", tombstones="tombstones/removed.json" if removed and number + 1 == len(generations) else "",
        )
        for number in range(len(generations))
    ]  # fmt: skip
    stones = {"shards": list(removed), "spans": {path: found for path, found in spans.items() if found}}
    disk.write(output / "tombstones" / "removed.json", msgspec.json.encode(stones))
    shards = [source_shard(index=number, source=f"s{number % 2}") for number in range(4)]
    write_manifest(output, manifest(files=files, generations=made, source_shards=shards, **changes))
    return output


def _file(output: Path, path: str, generation: int, documents: Documents, ids: list[int], low: int) -> PublishedFile:
    disk.write(output / path, np.array(ids, "<u2").tobytes())
    starts = np.cumsum([0, *(length + 1 for _, length in documents)])[:-1]
    inside = np.flatnonzero((starts >= low) & (starts < low + len(ids)))
    listed = np.array([documents[place] for place in inside], DOCUMENT)
    disk.write(output / "documents" / path, listed.tobytes())
    boundaries = [Boundary(document=0, token=int(starts[inside[0]]) - low)] if len(inside) else []
    return token_file(
        path=path, generation=generation, bytes=2 * len(ids), tokens=len(ids), sha256=path,
        blocks=block_digests(output / path), boundaries=boundaries,
    )  # fmt: skip


def _mask(output: Path, path: str, ids: list[int], hide: int) -> LabelMask:
    disk.write(output / "masks" / path, (np.array(ids) % hide != 0).tobytes())
    hidden = sum(token % hide == 0 for token in ids)
    return LabelMask(path=f"masks/{path}", hidden=hidden, blocks=block_digests(output / "masks" / path))


def _spans(documents: Documents, removed: tuple[int, ...], low: int, high: int) -> list[list[int]]:
    found: list[list[int]] = []
    position = 0
    for shard, length in documents:
        start, position = position, position + length + 1
        if shard in removed and start < high and position > low:
            span = [max(start, low) - low, min(position, high) - low]
            if found and found[-1][1] == span[0]:
                found[-1][1] = span[1]
            else:
                found.append(span)
    return found


class Numbers:
    """Samples that are their own numbers, in blocks of these sizes."""

    def __init__(self, *blocks: int, base: int = 0, length: int = 1) -> None:
        self.blocks, self.base, self.length = np.array(blocks, np.int64), base, length
        self.expected: list[int] = []

    @property
    def content(self) -> list[str]:
        return [f"{self.base} {self.blocks.tolist()}"]

    def read(self, numbers: np.ndarray) -> Read:
        ids = np.repeat(self.base + numbers[:, None], self.length + 1, axis=1)
        return Read(ids=ids, mask=np.ones(ids.shape, bool))

    def expect(self, numbers: np.ndarray) -> None:
        self.expected = numbers.tolist()


def drawn(loader: Loader, steps: int) -> list[int]:
    """The first id of every sample of so many batches."""
    return [number for _ in range(steps) for number in loader.next().x[:, 0].tolist()]


def learned(batch: Batch) -> list[list[int]]:
    """The targets to learn, by sample."""
    return [row[keep].tolist() for row, keep in zip(batch.y, batch.mask, strict=True)]
