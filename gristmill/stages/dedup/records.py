"""Fixed-size records on disk, and the numbering of documents as nodes."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from gristmill.config import PrepareConfig
from gristmill.storage import disk, stores
from gristmill.types import ShardRef, StageReport

EDGE = np.dtype([("first", "<u8"), ("second", "<u8")])
"""Two documents that are copies; ``first`` comes before ``second`` in the order in which documents stay. A document is
a node, ``rank << 32 | row``: ranks number the pieces by (priority of their source, document order)."""

MEMBER = np.dtype([("node", "<u8"), ("led", "?")])
"""A document of a group, and whether it is a copy of one of the group's leaders."""

LOW = np.uint64(0xFFFFFFFF)


EARLIER = 2**40
"""Priority of the pieces of earlier generations and data sets: above that of any source."""


def priorities_of(
    shards: list[ShardRef], signed: list[StageReport], earlier: list[StageReport], config: PrepareConfig
) -> list[int]:
    """The priority of each piece, those of earlier data last in the list."""
    sources = {shard.index: shard.source for shard in shards}
    own = [config.source(sources[report.shard]).priority for report in signed]
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
    path = stores.here(artifact)
    with disk.translated(path):
        data = np.memmap(path, dtype.base, "r")
    return data.reshape(-1, *dtype.shape) if dtype.shape else data


def by_piece(nodes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The rank of each piece that has some of the nodes, and their positions in ``nodes``, by row."""
    order = np.argsort(nodes)
    ranks = (nodes >> np.uint64(32))[order]
    edges = np.flatnonzero(ranks[1:] != ranks[:-1]) + 1
    bounds = [0, *(edges.tolist()), len(order)] if len(order) else []
    for start, stop in pairwise(bounds):
        yield int(ranks[start]), order[start:stop]


class Numbering:
    """Documents as one run of numbers, by (rank of the piece, row)."""

    def __init__(self, ranks: list[int], signed: list[StageReport]) -> None:
        sizes = np.zeros(len(ranks) + 1, np.int64)
        sizes[np.array(ranks, np.int64) + 1] = [report.docs_out for report in signed]
        self._starts = np.cumsum(sizes)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def piece(self, rank: int) -> slice:
        """The numbers of the documents of a piece."""
        return slice(int(self._starts[rank]), int(self._starts[rank + 1]))

    def of(self, nodes: np.ndarray) -> np.ndarray:
        """int64 numbers of nodes."""
        return self._starts[(nodes >> np.uint64(32)).astype(np.int64)] + (nodes & LOW).astype(np.int64)

    def ranks(self, numbers: np.ndarray) -> np.ndarray:
        """int64 ranks of the pieces of the documents with these numbers."""
        found: np.ndarray = np.searchsorted(self._starts, numbers, "right") - 1
        return found

    def nodes(self, numbers: np.ndarray) -> np.ndarray:
        """The nodes with these numbers."""
        ranks = self.ranks(numbers)
        found: np.ndarray = ranks.astype(np.uint64) << np.uint64(32) | (numbers - self._starts[ranks]).astype(np.uint64)
        return found
