"""A few windows of a published file, decoded, for a person to look at."""

from collections.abc import Iterator

import numpy as np

from gristmill.formats.base import format_of
from gristmill.stages.dedup.recall import published_encoder
from gristmill.storage import stores
from gristmill.types import Manifest

WINDOW_IDS = 64
SEED = 1
REACH = 1 << 24
"""Ids within which the windows lie: a format may have to be read from its start."""


def windows(output: str, manifest: Manifest, count: int = 3) -> list[str]:
    """``count`` decoded windows of 64 ids from seeded random places of the first published file, within its first 16
    million ids; of one that holds text, of 64 bytes."""
    file = manifest.files[0]
    format = format_of(manifest, file.format)
    blocks = format.blocks(stores.at(output).path(file.path), format.dtype(manifest.tokenizer.vocab_size))
    ids = _first(blocks, min(file.tokens, REACH))
    starts = np.random.default_rng(SEED).integers(0, max(1, len(ids) - WINDOW_IDS), count)
    found = [ids[start : start + WINDOW_IDS] for start in starts.tolist()]
    if format.holds == "text":
        return [window.tobytes().decode("utf-8", "ignore") for window in found]
    encoder = published_encoder(output, manifest)
    return [encoder.decode(np.array(window)) for window in found]


def _first(blocks: Iterator[np.ndarray], count: int) -> np.ndarray:
    found: list[np.ndarray] = []
    while sum(map(len, found)) < count:
        found.append(next(blocks))
    return np.concatenate(found)[:count]
