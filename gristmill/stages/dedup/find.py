"""Find pairs of documents that are copies: independent searches over bands and key ranges of all pieces.

Documents with an equal key in a band are a group. Of a small group all pairs are compared. In a large one a document
that is a copy of no leader before it is a leader, and every document is compared with the leaders before it. Where all
leaders stay, no further pair can change a verdict; for the case that one goes, ``decide`` gets the group.
"""

from bisect import bisect_left, bisect_right
from pathlib import Path

import numpy as np

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup
from gristmill.processes import progress
from gristmill.stages.dedup import _memory
from gristmill.stages.dedup._comparison import Comparison
from gristmill.stages.dedup._pairs import ALL_PAIRS, LEADERS, groups, places_within, portions, with_first, within_groups
from gristmill.stages.dedup.records import EDGE, MEMBER, mapped, ranks_of
from gristmill.stages.dedup.sign import BAND
from gristmill.storage import disk
from gristmill.types import Search, StageReport


def searches(signed: list[StageReport], config: PrepareConfig) -> list[Search]:
    """The independent searches, each within the memory of a worker: several bands, or a key range of one."""
    most = _memory.keys(config.execution.memory)
    found: list[Search] = []
    for kind, plugin in config.dedup_of(Dedup).items():
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


def find(search: Search, priorities: list[int], signed: list[StageReport], config: PrepareConfig) -> StageReport:
    """Write ``edges``, the confirmed pairs of one search, and the groups of which not all pairs were compared:
    ``members``, one group after the other, and int64 ``sizes``. ``priorities`` holds the priority of each piece."""
    determined = {
        "signatures": [report.fingerprint for report in signed],
        "ranks": ranks_of(priorities),
        "keep": [config.keep_copy, *(priorities if config.keep_copy == "content" else [])],
        "search": [search.kind, search.first_band, search.last_band, search.range, search.ranges],
    }

    def produce(folder: Path, key: str) -> StageReport:
        plugin, memory = config.dedup_of(Dedup)[search.kind], int(config.execution.memory)
        comparison = Comparison(search.kind, plugin, ranks_of(priorities), signed, memory)
        with (
            disk.Writer(folder / "edges") as edges,
            disk.Writer(folder / "members") as members,
            disk.Writer(folder / "sizes") as sizes,
        ):
            out = Output(edges, members, sizes, plugin.transitive, comparison, _memory.candidates(memory))
            for band in range(search.first_band, search.last_band):
                out.add(*_equal(band, search, priorities, signed, config.keep_copy == "content"))
            out.confirm()
        files = {"edges": edges.artifact, "members": members.artifact, "sizes": sizes.artifact}
        return StageReport(stage="find", shard=search.index, fingerprint=key, artifacts=files, details=out.counts)

    return ledger.run(config.execution.work, "find", search.index, determined, produce)


class Output:
    """What one search finds: its files, and how many pairs were ``candidates`` and ``confirmed``."""

    def __init__(
        self,
        edges: disk.Writer,
        members: disk.Writer,
        sizes: disk.Writer,
        star: bool,
        comparison: Comparison,
        together: int,
    ) -> None:
        """``star``: being a copy is an equivalence, and the first of a group is compared with the others.
        ``together``: candidates confirmed together."""
        self._edges, self._members, self._sizes = edges, members, sizes
        self._star = star
        self._comparison = comparison
        self._together = together
        self._waiting: list[np.ndarray] = []
        self.counts = {"candidates": 0, "confirmed": 0}

    def add(self, node: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> None:
        """Compare the documents of a band within its groups, given by their starts and sizes in ``node``."""
        for part in portions(starts, sizes, self._together):
            for first, second in [with_first(*part)] if self._star else within_groups(*part):
                self._waiting.append(_edges(node[first], node[second]))
            if sum(map(len, self._waiting)) >= self._together:
                self.confirm()
        large = sizes > (2 if self._star else ALL_PAIRS)
        starts, sizes = starts[large], sizes[large]
        self._sizes.write(sizes.astype("<i8").tobytes())
        members = np.empty(sizes.sum(), MEMBER)
        members["node"], members["led"] = node[places_within(starts, sizes)], True
        firsts = np.cumsum(sizes) - sizes
        members["led"][firsts] = False
        for first, size in zip(firsts.tolist(), sizes.tolist(), strict=True) if not self._star else []:
            self._lead(members[first : first + size])
        self._members.write(members.tobytes())

    def _lead(self, group: np.ndarray) -> None:
        """Compare the members of a large group with its leaders, and fill in ``led``."""
        nodes, led, place = group["node"].copy(), np.zeros(len(group), bool), 0
        later_copies = self._comparison.within(nodes)
        for _ in range(LEADERS):
            later, copies = nodes[place + 1 :], later_copies(place)
            self._write(_edges(nodes[place], later[copies]), len(later))
            led[place + 1 :] |= copies
            unlike = np.flatnonzero(~led[place + 1 :])
            if not len(unlike):
                break
            place += 1 + int(unlike[0])
        group["led"] = led

    def confirm(self) -> None:
        """Compare the pairs that were put off until there are many."""
        pairs = _distinct(np.concatenate([np.empty(0, EDGE), *self._waiting]))
        self._write(pairs[self._comparison.copies(pairs["first"], pairs["second"])], len(pairs))
        self._waiting = []

    def _write(self, edges: np.ndarray, candidates: int) -> None:
        self._edges.write(edges.tobytes())
        self.counts["candidates"] += candidates
        self.counts["confirmed"] += len(edges)


def _edges(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    found = np.empty(len(second), EDGE)
    found["first"], found["second"] = first, second
    return found


def _equal(
    band: int, search: Search, priorities: list[int], signed: list[StageReport], by_content: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes of the search's key range in a band by (key, order in which they stay); starts and sizes of the groups
    of equal keys."""
    low = np.uint64(search.range * 2**64 // search.ranges)
    high = np.uint64((search.range + 1) * 2**64 // search.ranges - 1)
    pieces = sorted(zip(ranks_of(priorities), priorities, signed, strict=True), key=lambda piece: piece[0])
    bounds = []
    for _, _, report in pieces:
        keys = np.asarray(_band(report, band, search.kind))["key"]
        # numpy's own search would first copy the keys, since they are not aligned: the whole band for every range
        bounds.append((bisect_left(keys, low), bisect_right(keys, high)))
    total, start = sum(stop - start for start, stop in bounds), 0
    key, node = np.empty(total, np.uint64), np.empty(total, np.uint64)
    class_, content = (np.empty(total if by_content else 0, dtype) for dtype in (np.int64, np.uint64))
    for (rank, priority, report), (first, last) in zip(pieces, bounds, strict=True):
        records = _band(report, band, search.kind)[first:last]
        here = slice(start, start := start + len(records))
        key[here], node[here] = records["key"], np.uint64(rank << 32) | records["row"]
        if by_content:
            class_[here], content[here] = -priority, mapped(report, "content", np.dtype("<u8"))[records["row"]]
    progress.advance(total, 0)
    # Nodes ascend already, and sorted runs are merged.
    order = np.lexsort((content, class_, key)) if by_content else np.argsort(key, kind="stable")
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
