"""Find pairs of documents that are copies: independent searches over bands and key ranges of all pieces."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gristmill import ledger, progress, storage
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup
from gristmill.stages import _memory
from gristmill.stages._pairs import groups, portions, with_first, within_groups
from gristmill.stages.records import EDGE, LOW, by_piece, mapped
from gristmill.stages.sign import BAND
from gristmill.types import Search, StageReport


def searches(signed: list[StageReport], config: PrepareConfig) -> list[Search]:
    """The independent searches, each within the memory of a worker: several bands, or a key range of one."""
    most = _memory.keys(config.execution.memory)
    found: list[Search] = []
    for kind, plugin in enumerate(config.dedup):
        if not isinstance(plugin, Dedup):
            continue
        records = max(1, sum(report.details["valid"][kind] for report in signed))
        bands, ranges = plugin.band_count(), -(-records // most)
        together = max(1, most // records)
        for band in range(0, bands, together):
            for number in range(ranges):
                found.append(
                    Search(
                        index=len(found),
                        kind=kind,
                        first_band=band,
                        last_band=min(band + together, bands),
                        range=number,
                        ranges=ranges,
                    )
                )
    return found


def find(search: Search, ranks: list[int], signed: list[StageReport], config: PrepareConfig) -> StageReport:
    """Write ``edges``: the confirmed pairs of one search as ``EDGE`` records, sorted and distinct among those that were
    candidates together. ``ranks`` holds the rank of each piece."""
    determined = {
        "signatures": [report.fingerprint for report in signed],
        "ranks": ranks,
        "search": [search.kind, search.first_band, search.last_band, search.range, search.ranges],
    }

    def produce(folder: Path, key: str) -> StageReport:
        plugin = config.dedup[search.kind]
        assert isinstance(plugin, Dedup)
        candidates = confirmed = 0
        with storage.Writer(folder / "edges") as out:
            memory = int(config.execution.memory)
            for pairs in _candidates(plugin, search, ranks, signed, _memory.candidates(memory)):
                edges = _confirmed(plugin, _distinct(pairs), search.kind, ranks, signed, memory)
                out.write(edges.tobytes())
                candidates, confirmed = candidates + len(pairs), confirmed + len(edges)
        details = {"candidates": candidates, "confirmed": confirmed}
        return StageReport(
            stage="find", shard=search.index, fingerprint=key, artifacts={"edges": out.artifact}, details=details
        )

    return ledger.run(config.execution.work, "find", search.index, determined, produce)


def _candidates(
    plugin: Dedup, search: Search, ranks: list[int], signed: list[StageReport], together: int
) -> Iterator[np.ndarray]:
    """``EDGE`` records of documents with equal keys in a band, about so many ``together``."""
    waiting: list[np.ndarray] = []
    for band in range(search.first_band, search.last_band):
        node, starts, sizes = _equal(band, search, ranks, signed)
        for part in portions(starts, sizes, together):
            for first, second in [with_first(*part)] if plugin.transitive else within_groups(*part):
                found = np.empty(len(first), EDGE)
                found["first"], found["second"] = node[first], node[second]
                waiting.append(found)
                if sum(map(len, waiting)) >= together:
                    yield np.concatenate(waiting)
                    waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _equal(
    band: int, search: Search, ranks: list[int], signed: list[StageReport]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes of the search's key range in a band by (key, node); starts and sizes of the groups of equal keys."""
    low = np.uint64(search.range * 2**64 // search.ranges)
    high = np.uint64((search.range + 1) * 2**64 // search.ranges - 1)
    pieces = sorted(zip(ranks, signed, strict=True), key=lambda pair: pair[0])
    bounds = []
    for _, report in pieces:
        keys = np.asarray(_band(report, band, search.kind))["key"]
        # numpy's own search would first copy the keys, since they are not aligned: the whole band for every range
        bounds.append((bisect_left(keys, low), bisect_right(keys, high)))
    total, start = sum(stop - start for start, stop in bounds), 0
    key, node = np.empty(total, np.uint64), np.empty(total, np.uint64)
    for (rank, report), (first, last) in zip(pieces, bounds, strict=True):
        records = _band(report, band, search.kind)[first:last]
        key[start : start + len(records)] = records["key"]
        node[start : start + len(records)] = np.uint64(rank << 32) | records["row"]
        start += len(records)
    progress.advance(total, 0)
    order = np.argsort(key, kind="stable")  # nodes ascend already, and sorted runs are merged
    return node[order], *groups(key[order])


def _band(report: StageReport, band: int, kind: int) -> np.ndarray:
    """``BAND`` records of a piece; mapped anew each time, for there may be more pieces than files can be open."""
    valid = report.details["valid"][kind]
    return mapped(report, f"{kind}.bands", BAND)[band * valid : (band + 1) * valid]


def _distinct(pairs: np.ndarray) -> np.ndarray:
    """Sorted, each once; many times faster than ``np.unique`` of records."""
    pairs = pairs[np.lexsort((pairs["second"], pairs["first"]))]
    new = np.ones(len(pairs), bool)
    new[1:] = (pairs["first"][1:] != pairs["first"][:-1]) | (pairs["second"][1:] != pairs["second"][:-1])
    return pairs[new]


def _confirmed(
    plugin: Dedup, pairs: np.ndarray, kind: int, ranks: list[int], signed: list[StageReport], memory: int
) -> np.ndarray:
    """The pairs that the plugin holds for copies."""
    dtype = plugin.check_dtype()
    checks = {rank: mapped(report, f"{kind}.check", dtype) for rank, report in zip(ranks, signed, strict=True)}
    kept, step = np.zeros(len(pairs), bool), _memory.compared(memory, dtype.itemsize)
    for start in range(0, len(pairs), step):
        chunk = pairs[start : start + step]
        rows = [_rows(checks, dtype, chunk[name]) for name in ("first", "second")]
        kept[start : start + step] = plugin.confirmed(rows[0], rows[1])
    return _confirmed_by_sets(plugin, pairs[kept], kind, ranks, signed) if plugin.compares_sets() else pairs[kept]


def _confirmed_by_sets(
    plugin: Dedup, pairs: np.ndarray, kind: int, ranks: list[int], signed: list[StageReport]
) -> np.ndarray:
    """The pairs whose sets confirm what their signatures suggest."""
    hashes = {rank: mapped(report, f"{kind}.sets", np.dtype("<u8")) for rank, report in zip(ranks, signed, strict=True)}
    ends = {rank: mapped(report, f"{kind}.ends", np.dtype("<i8")) for rank, report in zip(ranks, signed, strict=True)}

    def members(node: int) -> np.ndarray:
        rank, row = node >> 32, node & 0xFFFFFFFF
        found: np.ndarray = hashes[rank][ends[rank][row] : ends[rank][row + 1]]
        return found

    nodes = zip(pairs["first"].tolist(), pairs["second"].tolist(), strict=True)
    kept = [plugin.confirmed_by_sets(members(first), members(second)) for first, second in nodes]
    confirmed: np.ndarray = pairs[np.array(kept, bool)]
    return confirmed


def _rows(checks: dict[int, np.ndarray], dtype: np.dtype, nodes: np.ndarray) -> np.ndarray:
    """The check rows of nodes, ``(nodes, width)``."""
    found = np.empty((len(nodes), *dtype.shape), dtype.base)
    for rank, here in by_piece(nodes):
        found[here] = checks[rank][nodes[here] & LOW]
    return found
