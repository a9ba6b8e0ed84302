"""How often a document stands in the published files, counted from their bytes."""

from collections.abc import Iterator

import numpy as np

from gristmill.formats.base import Format, format_of
from gristmill.stages.dedup.recall import published_encoder
from gristmill.storage import stores
from gristmill.types import DOCUMENT, Manifest, PublishedFile


def occurrences(output: str, manifest: Manifest, shard: int, text: str) -> int:
    """How many documents of this input shard, in the files of the data set's first format, have this text. One that
    goes on in a further file is told by its beginning."""
    if not manifest.files:
        return 0
    kind = manifest.files[0].format
    format = format_of(manifest, kind)
    ids = np.frombuffer(text.encode(), np.uint8)
    if format.holds == "tokens":
        ids = published_encoder(output, manifest).encode([text]).ids
    files = [file for file in manifest.files if file.format == kind]
    return sum(_in_file(output, file, shard, ids, format, manifest) for file in files)


def _in_file(output: str, file: PublishedFile, shard: int, ids: np.ndarray, format: Format, manifest: Manifest) -> int:
    place = stores.at(output)
    documents = np.frombuffer(place.read(f"documents/{file.path}"), DOCUMENT)
    sizes = documents["length"].astype(np.int64) + (format.eot != "none")
    first = file.boundaries[0].token if file.boundaries else file.tokens
    starts = first + np.cumsum(sizes) - sizes + (format.eot == "prepend")
    alike = starts[(documents["shard"] == shard) & (documents["length"] == len(ids))]
    if not len(alike):
        return 0
    blocks = format.blocks(place.path(file.path), format.dtype(manifest.tokenizer.vocab_size))
    return int(np.count_nonzero(_equal(blocks, alike, ids)))


def _equal(blocks: Iterator[np.ndarray], starts: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """bool: at which of some ascending places the ids stand, as far as the blocks reach."""
    found = np.ones(len(starts), bool)
    position = 0
    for block in blocks:
        end = position + len(block)
        here = range(*np.searchsorted(starts, [position - len(ids) + 1, end]).tolist())
        for number in here:
            low, high = max(position, int(starts[number])), min(end, int(starts[number]) + len(ids))
            wanted = ids[low - int(starts[number]) : high - int(starts[number])]
            found[number] &= np.array_equal(block[low - position : high - position], wanted)
        position = end
    return found
