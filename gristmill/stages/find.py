"""Find pairs of documents that are copies: independent searches over bands and key ranges of all pieces."""

from pathlib import Path

import numpy as np

from gristmill import ledger, progress, storage
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup
from gristmill.stages._pairs import groups, with_first, within_groups
from gristmill.stages.records import EDGE, LOW, mapped
from gristmill.stages.sign import BAND
from gristmill.types import Search, StageReport

SEARCH_RECORDS = 16_000_000
"""Keys a search: at 40 bytes each while they are sorted, 640 MB."""

CONFIRM_PAIRS = 1 << 18
"""Pairs confirmed at a time: 268 MB with two 512-byte signatures each."""


def searches(signed: list[StageReport], config: PrepareConfig) -> list[Search]:
    """The independent searches, each within the memory of a worker: several bands, or a key range of one."""
    found: list[Search] = []
    for kind, plugin in enumerate(config.dedup):
        if not isinstance(plugin, Dedup):
            continue
        records = max(1, sum(report.details["valid"][kind] for report in signed))
        bands, ranges = plugin.band_count(), -(-records // SEARCH_RECORDS)
        together = max(1, SEARCH_RECORDS // records)
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
    """Write ``edges``: the confirmed pairs of one search as ``EDGE`` records, sorted and distinct. ``ranks`` holds the
    rank of each piece."""
    determined = {
        "signatures": [report.fingerprint for report in signed],
        "ranks": ranks,
        "search": [search.kind, search.first_band, search.last_band, search.range, search.ranges],
    }

    def produce(folder: Path, key: str) -> StageReport:
        plugin = config.dedup[search.kind]
        assert isinstance(plugin, Dedup)
        pairs = [
            _candidates(plugin, band, search, ranks, signed) for band in range(search.first_band, search.last_band)
        ]
        edges = _confirmed(plugin, _distinct(np.concatenate(pairs)), search.kind, ranks, signed)
        artifact = storage.write(folder / "edges", edges.tobytes())
        details = {"candidates": sum(map(len, pairs)), "confirmed": len(edges)}
        return StageReport(
            stage="find", shard=search.index, fingerprint=key, artifacts={"edges": artifact}, details=details
        )

    return ledger.run(config.execution.work, "find", search.index, determined, produce)


def _candidates(plugin: Dedup, band: int, search: Search, ranks: list[int], signed: list[StageReport]) -> np.ndarray:
    """``EDGE`` records of documents with equal keys in a band."""
    low = np.uint64(search.range * 2**64 // search.ranges)
    high = np.uint64((search.range + 1) * 2**64 // search.ranges - 1)
    keys, nodes = [], []
    for rank, report in zip(ranks, signed, strict=True):
        valid = report.details["valid"][search.kind]
        records = mapped(report, f"{search.kind}.bands", BAND)[band * valid : (band + 1) * valid]
        start, stop = np.searchsorted(records["key"], low, "left"), np.searchsorted(records["key"], high, "right")
        keys.append(records["key"][start:stop])
        nodes.append(np.uint64(rank << 32) | records["row"][start:stop].astype(np.uint64))
    progress.advance(sum(map(len, keys)), 0)
    key, node = np.concatenate(keys), np.concatenate(nodes)
    order = np.lexsort((node, key))
    node = node[order]
    starts, sizes = groups(key[order])
    pairs = [with_first(starts, sizes)] if plugin.transitive else list(within_groups(starts, sizes))
    found = np.empty(sum(len(first) for first, _ in pairs), EDGE)
    if pairs:
        found["first"] = node[np.concatenate([first for first, _ in pairs])]
        found["second"] = node[np.concatenate([second for _, second in pairs])]
    return found


def _distinct(pairs: np.ndarray) -> np.ndarray:
    """Sorted, each once; many times faster than ``np.unique`` of records."""
    pairs = pairs[np.lexsort((pairs["second"], pairs["first"]))]
    new = np.ones(len(pairs), bool)
    new[1:] = (pairs["first"][1:] != pairs["first"][:-1]) | (pairs["second"][1:] != pairs["second"][:-1])
    return pairs[new]


def _confirmed(plugin: Dedup, pairs: np.ndarray, kind: int, ranks: list[int], signed: list[StageReport]) -> np.ndarray:
    """The pairs that the plugin holds for copies."""
    checks = {
        rank: mapped(report, f"{kind}.check", plugin.check_dtype()) for rank, report in zip(ranks, signed, strict=True)
    }
    kept = np.zeros(len(pairs), bool)
    for start in range(0, len(pairs), CONFIRM_PAIRS):
        chunk = pairs[start : start + CONFIRM_PAIRS]
        rows = [_rows(checks, plugin.check_dtype(), chunk[name]) for name in ("first", "second")]
        kept[start : start + CONFIRM_PAIRS] = plugin.confirmed(rows[0], rows[1])
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
    places, rows = nodes >> np.uint64(32), nodes & LOW
    for place in np.unique(places).tolist():
        here = np.flatnonzero(places == place)
        found[here] = checks[place][rows[here]]
    return found
