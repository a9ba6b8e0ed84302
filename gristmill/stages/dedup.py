"""Find documents that repeat an earlier one: independent searches over key ranges, one clustering, one verdict.

A document is a node, ``rank << 32 | row``. Ranks number the pieces by (priority of their source, document order), so
the smallest node of a cluster is the copy that stays, whatever the number of searches and workers.
"""

from pathlib import Path

import numpy as np

from gristmill import ledger, progress, storage
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup
from gristmill.stages._components import components
from gristmill.stages._pairs import groups, with_first, within_groups
from gristmill.stages.sign import BAND
from gristmill.types import Search, StageReport

EDGE = np.dtype([("first", "<u8"), ("second", "<u8")])
VERDICT = np.dtype([("row", "<u4"), ("kept_place", "<u4"), ("kept_row", "<u4"), ("kind", "u1")])
"""A dropped document of a piece, the document that it repeats, and the number of the dedup kind that found it."""

SEARCH_RECORDS = 16_000_000
"""Keys a search: at 40 bytes each while they are sorted, 640 MB."""

CONFIRM_PAIRS = 1 << 18
"""Pairs confirmed at a time: 268 MB with two 512-byte signatures each."""

LOW = np.uint64(0xFFFFFFFF)


def searches(signed: list[StageReport], config: PrepareConfig) -> list[Search]:
    """The independent searches, each within the memory of a worker: several bands, or a key range of one."""
    found: list[Search] = []
    for kind, plugin in enumerate(config.dedup):
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
    return pairs[kept]


def _rows(checks: dict[int, np.ndarray], dtype: np.dtype, nodes: np.ndarray) -> np.ndarray:
    """The check rows of nodes, ``(nodes, width)``."""
    found = np.empty((len(nodes), *dtype.shape), dtype.base)
    places, rows = nodes >> np.uint64(32), nodes & LOW
    for place in np.unique(places).tolist():
        here = np.flatnonzero(places == place)
        found[here] = checks[place][rows[here]]
    return found


def decide(
    found: list[StageReport], kinds: list[int], ranks: list[int], signed: list[StageReport], config: PrepareConfig
) -> StageReport:
    """Write ``verdicts``: ``VERDICT`` records by piece and row. ``kinds`` holds the dedup kind of each search.

    ``details`` holds, per piece, the ``offsets`` of its records (one more than pieces), the ``documents`` and
    ``characters`` kept, and what was ``dropped`` by reason.
    """
    determined = {"found": [report.fingerprint for report in found], "ranks": ranks}

    def produce(folder: Path, key: str) -> StageReport:
        places, verdicts = _verdicts([mapped(report, "edges", EDGE) for report in found], kinds, ranks)
        edges = np.searchsorted(places, np.arange(len(signed) + 1)).tolist()
        reasons = [f"duplicate_{kind.kind()}" for kind in config.dedup]
        documents, kept_characters, dropped = [], [], []
        for place, report in enumerate(signed):
            gone = verdicts[edges[place] : edges[place + 1]]
            lengths = mapped(report, "characters", np.dtype("<i8"))
            documents.append(report.docs_out - len(gone))
            kept_characters.append(int(lengths.sum()) - int(lengths[gone["row"]].sum()))
            counts = np.bincount(gone["kind"], minlength=len(reasons)).tolist()
            dropped.append({reason: count for reason, count in zip(reasons, counts, strict=True) if count})
        totals: dict[str, int] = {}
        for table in dropped:
            for reason, count in table.items():
                totals[reason] = totals.get(reason, 0) + count
        return StageReport(
            stage="decide",
            shard=0,
            fingerprint=key,
            docs_in=sum(report.docs_out for report in signed),
            docs_out=sum(documents),
            chars_in=sum(report.chars_out for report in signed),
            chars_out=sum(kept_characters),
            dropped=totals,
            artifacts={"verdicts": storage.write(folder / "verdicts", verdicts.tobytes())},
            details={"offsets": edges, "documents": documents, "characters": kept_characters, "dropped": dropped},
        )

    return ledger.run(config.execution.work, "decide", 0, determined, produce)


def _verdicts(edges: list[np.ndarray], kinds: list[int], ranks: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Places and ``VERDICT`` records of all dropped documents, sorted by (place, row)."""
    nodes = np.empty(0, np.uint64)
    for part in edges:
        nodes = np.unique(np.concatenate([nodes, part["first"], part["second"]]))
    labels = components(nodes, ((part["first"], part["second"]) for part in edges))
    kind = _finders(nodes, edges, kinds)
    gone = np.flatnonzero(labels != np.arange(len(nodes)))
    kept = nodes[labels[gone]]
    place_of = np.argsort(ranks) if ranks else np.empty(0, int)
    places = place_of[(nodes[gone] >> np.uint64(32)).astype(np.int64)]
    found = np.empty(len(gone), VERDICT)
    found["row"], found["kind"] = nodes[gone] & LOW, kind[gone]
    found["kept_place"] = place_of[(kept >> np.uint64(32)).astype(np.int64)]
    found["kept_row"] = kept & LOW
    order = np.lexsort((found["row"], places))
    return places[order], found[order]


def _finders(nodes: np.ndarray, edges: list[np.ndarray], kinds: list[int]) -> np.ndarray:
    """uint8: the first kind that found a node to repeat an earlier one; where all its copies are later ones, the first
    kind that found any."""
    found = {name: np.full(len(nodes), 255, np.uint8) for name in ("first", "second")}
    for number, part in zip(kinds, edges, strict=True):
        for name, table in found.items():
            np.minimum.at(table, np.searchsorted(nodes, part[name]), np.uint8(number))
    finders: np.ndarray = np.where(found["second"] < 255, found["second"], found["first"])
    return finders


def ranks_of(signed: list[StageReport], priorities: list[int]) -> list[int]:
    """The rank of each piece: by falling priority of its source, then in document order."""
    order = sorted(range(len(signed)), key=lambda place: (-priorities[place], place))
    found = [0] * len(signed)
    for rank, place in enumerate(order):
        found[place] = rank
    return found


def verdict(place: int, decided: StageReport) -> np.ndarray:
    """The ``VERDICT`` records of one piece, sorted by row."""
    start, stop = decided.details["offsets"][place : place + 2]
    return mapped(decided, "verdicts", VERDICT)[start:stop]


def places_with_copies(decided: StageReport) -> list[int]:
    """The pieces from which a document was dropped."""
    return [place for place, dropped in enumerate(decided.details["dropped"]) if dropped]


def mapped(report: StageReport, name: str, dtype: np.dtype) -> np.ndarray:
    """An artifact of fixed-size records, mapped read-only."""
    artifact = report.artifacts[name]
    if not artifact.nbytes:
        return np.empty((0, *dtype.shape), dtype.base)
    with storage.translated(Path(artifact.uri)):
        data = np.memmap(artifact.uri, dtype.base, "r")
    return data.reshape(-1, *dtype.shape) if dtype.shape else data
