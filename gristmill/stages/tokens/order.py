"""Decide, before anything is tokenized, where every document will go."""

import numpy as np

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.splits.base import Corpus
from gristmill.stages.dedup.decide import verdict
from gristmill.stages.dedup.records import mapped
from gristmill.types import StageReport

BUCKET_CHARACTERS = 1 << 25
"""Text a bucket: one pack task gathers a bucket, and 32 Mi characters are about 24 MB of uint16 ids."""

MOST_BUCKETS = 4096
"""Every tokenized shard has a slice for every bucket; more would make the slices tiny."""


def order(signed: list[StageReport], decided: StageReport, config: PrepareConfig) -> StageReport:
    """``details``: how many ``documents`` are kept, the global number of the ``first`` of each piece, how many
    ``buckets`` the key space is cut into, how many ``shards`` are in use and which is the ``last_shard``, and the
    ``cut`` document of a character split as place, row and character.
    """
    determined = {
        "decide": decided.fingerprint,
        "ordering": config.ordering.identity(),
        "split": config.split.identity(),
        "shards": [report.shard for report in signed],
    }

    def produce(_: object, key: str) -> StageReport:
        documents = decided.details["documents"]
        first = np.concatenate([[0], np.cumsum(documents)]).tolist()
        buckets = min(MOST_BUCKETS, max(1, -(-decided.chars_out // BUCKET_CHARACTERS)))
        return StageReport(
            stage="order",
            shard=0,
            fingerprint=key,
            details={
                "documents": first[-1],
                "first": first[:-1],
                "buckets": buckets,
                "shards": len({report.shard for report in signed}),
                "last_shard": signed[-1].shard,
                "cut": _cut(signed, decided, config),
            },
        )

    return ledger.run(config.execution.work, "order", 0, determined, produce)


def _cut(signed: list[StageReport], decided: StageReport, config: PrepareConfig) -> dict[str, int] | None:
    corpus = Corpus(documents=decided.details["documents"], characters=decided.details["characters"])
    offset = config.split.cut(corpus)
    if offset is None:
        return None
    for place, count in enumerate(corpus.characters):
        if offset < count:
            return _cut_in_shard(place, offset, signed[place], decided)
        offset -= count
    return None


def _cut_in_shard(place: int, offset: int, signed: StageReport, decided: StageReport) -> dict[str, int]:
    lengths = mapped(signed, "characters", np.dtype("<i8")).copy()
    lengths[np.asarray(verdict(place, decided)["row"])] = 0
    ends = np.cumsum(lengths)
    row = int(np.searchsorted(ends, offset, "right"))
    return {"place": place, "row": row, "character": offset - int(ends[row] - lengths[row])}


def bucket_bounds(buckets: int, key_space: int) -> np.ndarray:
    """uint64, ``buckets`` long: the first key of each bucket."""
    return np.array([number * key_space // buckets for number in range(buckets)], np.uint64)
