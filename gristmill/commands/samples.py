"""A few windows of a published file, decoded, for a person to look at."""

import numpy as np

from gristmill import places
from gristmill.stages.recall import published_encoder
from gristmill.types import Manifest

WINDOW_IDS = 64
SEED = 1


def windows(output: str, manifest: Manifest, count: int = 3) -> list[str]:
    """``count`` decoded windows of 64 ids from seeded random places of the first published file."""
    encoder = published_encoder(output, manifest)
    file = manifest.files[0]
    dtype = np.dtype(manifest.dtype).newbyteorder("<")
    header = file.bytes - file.tokens * dtype.itemsize
    ids = np.memmap(places.at(output).path(file.path), dtype, "r", offset=header)
    starts = np.random.default_rng(SEED).integers(0, max(1, file.tokens - WINDOW_IDS), count)
    return [encoder.decode(np.array(ids[start : start + WINDOW_IDS])) for start in starts.tolist()]
