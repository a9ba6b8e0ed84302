"""Fixed-size records on disk, and the numbering of documents as nodes."""

from pathlib import Path

import numpy as np

from gristmill import storage
from gristmill.config import PrepareConfig
from gristmill.types import ShardRef, StageReport

EDGE = np.dtype([("first", "<u8"), ("second", "<u8")])
"""Two documents that are copies. A document is a node, ``rank << 32 | row``: ranks number the pieces by (priority of
their source, document order), so the smallest node of a cluster is the copy that stays."""

LOW = np.uint64(0xFFFFFFFF)


EARLIER = 2**40
"""Priority of the pieces of earlier data sets: above that of any source."""


def priorities_of(
    shards: list[ShardRef], signed: list[StageReport], earlier: list[StageReport], config: PrepareConfig
) -> list[int]:
    """The priority of each piece, those of earlier data sets last in the list."""
    own = [config.source(shards[report.shard].source).priority for report in signed]
    return own + [EARLIER] * len(earlier)


def ranks_of(priorities: list[int]) -> list[int]:
    """The rank of each piece: by falling priority, then in document order."""
    order = sorted(range(len(priorities)), key=lambda place: (-priorities[place], place))
    found = [0] * len(priorities)
    for rank, place in enumerate(order):
        found[place] = rank
    return found


def mapped(report: StageReport, name: str, dtype: np.dtype) -> np.ndarray:
    """An artifact of fixed-size records, mapped read-only."""
    artifact = report.artifacts[name]
    if not artifact.nbytes:
        return np.empty((0, *dtype.shape), dtype.base)
    with storage.translated(Path(artifact.uri)):
        data = np.memmap(artifact.uri, dtype.base, "r")
    return data.reshape(-1, *dtype.shape) if dtype.shape else data
