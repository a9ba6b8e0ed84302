"""Find documents that repeat an earlier one: independent hash ranges, then one verdict for all shards.

The verdict is a list of dropped rows a shard. Of equal documents the first in global order (shard, row) stays, so it
depends neither on the number of ranges nor on who computed them.
"""

from pathlib import Path

import numpy as np

from gristmill import ledger, storage
from gristmill.config import PrepareConfig
from gristmill.dedup.base import SIGNATURE
from gristmill.types import StageReport

DUPLICATE = np.dtype([("shard", "<u4"), ("row", "<u4"), ("kept_shard", "<u4"), ("kept_row", "<u4")])
"""A dropped document and the one that it repeats; shards by their place among the shards in use."""

RANGE_DOCUMENTS = 16_000_000
"""Documents a range: about 1.5 GB while it is sorted."""


def ranges(signed: list[StageReport]) -> int:
    """How many hash ranges keep each within the memory of a worker."""
    return max(1, -(-sum(report.docs_out for report in signed) // RANGE_DOCUMENTS))


def find(number: int, count: int, signed: list[StageReport], config: PrepareConfig) -> StageReport:
    """Write ``duplicates``: the ``DUPLICATE`` records of hash range ``number`` of ``count``, sorted by (shard, row)."""
    determined = {"signatures": [report.fingerprint for report in signed], "range": [number, count]}

    def produce(folder: Path, key: str) -> StageReport:
        found = [_repeats(kind.kind(), number, count, signed) for kind in config.dedup]
        records = np.sort(np.concatenate([np.empty(0, DUPLICATE), *found]), order=["shard", "row"])
        artifact = storage.write(folder / "duplicates", records.tobytes())
        return StageReport(stage="find", shard=number, fingerprint=key, artifacts={"duplicates": artifact})

    return ledger.run(config.execution.work, "find", number, determined, produce)


def _repeats(kind: str, number: int, count: int, signed: list[StageReport]) -> np.ndarray:
    low = np.uint64(number * 2**64 // count)
    high = np.uint64((number + 1) * 2**64 // count - 1)
    slices, shards = [], []
    for place, report in enumerate(signed):
        signatures = records(report, f"{kind}.signatures", SIGNATURE)
        start = np.searchsorted(signatures["high"], low, "left")
        stop = np.searchsorted(signatures["high"], high, "right")
        slices.append(signatures[start:stop])
        shards.append(np.full(stop - start, place, np.uint32))
    every, shard = np.concatenate(slices), np.concatenate(shards)
    order = np.lexsort((every["row"], shard, every["low"], every["high"]))
    every, shard = every[order], shard[order]
    new = np.ones(len(every), bool)
    new[1:] = (every["high"][1:] != every["high"][:-1]) | (every["low"][1:] != every["low"][:-1])
    first = np.maximum.accumulate(np.where(new, np.arange(len(every)), 0))
    repeats = np.flatnonzero(~new)
    found = np.empty(len(repeats), DUPLICATE)
    found["shard"], found["row"] = shard[repeats], every["row"][repeats]
    found["kept_shard"], found["kept_row"] = shard[first[repeats]], every["row"][first[repeats]]
    return found


def decide(found: list[StageReport], signed: list[StageReport], config: PrepareConfig) -> StageReport:
    """Write ``verdicts``: all ``DUPLICATE`` records by shard and row. ``details`` holds, per shard in use, the
    ``offsets`` of its records (one more than shards) and the ``documents`` and ``characters`` kept."""
    determined = {"found": [report.fingerprint for report in found]}

    def produce(folder: Path, key: str) -> StageReport:
        kinds = "_".join(kind.kind() for kind in config.dedup)
        offsets, documents, kept_characters = [0], [], []
        with storage.Writer(folder / "verdicts") as out:
            for place, report in enumerate(signed):
                dropped = _of_shard(found, place)
                out.write(dropped.tobytes())
                lengths = records(report, "characters", np.dtype("<i8"))
                offsets.append(offsets[-1] + len(dropped))
                documents.append(report.docs_out - len(dropped))
                kept_characters.append(int(lengths.sum()) - int(lengths[dropped["row"]].sum()))
        return StageReport(
            stage="decide",
            shard=0,
            fingerprint=key,
            docs_in=sum(report.docs_out for report in signed),
            docs_out=sum(documents),
            chars_in=sum(report.chars_out for report in signed),
            chars_out=sum(kept_characters),
            dropped={f"duplicate_{kinds}": offsets[-1]} if offsets[-1] else {},
            artifacts={"verdicts": out.artifact},
            details={"offsets": offsets, "documents": documents, "characters": kept_characters},
        )

    return ledger.run(config.execution.work, "decide", 0, determined, produce)


def _of_shard(found: list[StageReport], place: int) -> np.ndarray:
    """The duplicates of one shard from all ranges; a row found twice counts once."""
    parts = []
    for report in found:
        duplicates = records(report, "duplicates", DUPLICATE)
        start, stop = np.searchsorted(duplicates["shard"], [place, place + 1])
        parts.append(duplicates[start:stop])
    every = np.concatenate(parts)
    _, first = np.unique(every["row"], return_index=True)
    return every[first]


def verdict(place: int, decided: StageReport) -> np.ndarray:
    """The ``DUPLICATE`` records of one shard in use, sorted by row."""
    start, stop = decided.details["offsets"][place : place + 2]
    return records(decided, "verdicts", DUPLICATE)[start:stop]


def records(report: StageReport, name: str, dtype: np.dtype) -> np.ndarray:
    """An artifact of fixed-size records, mapped read-only."""
    artifact = report.artifacts[name]
    with storage.translated(Path(artifact.uri)):
        return np.memmap(artifact.uri, dtype, "r") if artifact.nbytes else np.empty(0, dtype)
