"""Fixed-size records on disk, and the numbering of documents as nodes."""

from pathlib import Path

import numpy as np

from gristmill import storage
from gristmill.types import StageReport

EDGE = np.dtype([("first", "<u8"), ("second", "<u8")])
"""Two documents that are copies. A document is a node, ``rank << 32 | row``: ranks number the pieces by (priority of
their source, document order), so the smallest node of a cluster is the copy that stays."""

LOW = np.uint64(0xFFFFFFFF)


def ranks_of(signed: list[StageReport], priorities: list[int]) -> list[int]:
    """The rank of each piece: by falling priority of its source, then in document order."""
    order = sorted(range(len(signed)), key=lambda place: (-priorities[place], place))
    found = [0] * len(signed)
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
