"""A few windows of a published file, decoded, for a person to look at."""

import numpy as np

from gristmill import places
from gristmill.stages.recall import published_encoder
from gristmill.stages.verify import format_of
from gristmill.types import Manifest

WINDOW_IDS = 64
SEED = 1


def windows(output: str, manifest: Manifest, count: int = 3) -> list[str]:
    """``count`` decoded windows of 64 ids from seeded random places of the first MB of the first published file."""
    encoder = published_encoder(output, manifest)
    file = manifest.files[0]
    dtype = np.dtype(manifest.dtype).newbyteorder("<")
    ids = next(format_of(manifest, file.format).blocks(places.at(output).path(file.path), dtype))
    starts = np.random.default_rng(SEED).integers(0, max(1, len(ids) - WINDOW_IDS), count)
    return [encoder.decode(ids[start : start + WINDOW_IDS]) for start in starts.tolist()]
