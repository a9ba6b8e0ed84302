"""Cluster the pairs of copies, and say for every piece which documents go and which one each repeats."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from gristmill import ledger, storage
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Screen
from gristmill.stages._components import components
from gristmill.stages.records import EDGE, LOW, mapped
from gristmill.stages.sign import matches
from gristmill.types import StageReport

VERDICT = np.dtype([("row", "<u4"), ("kept_place", "<u4"), ("kept_row", "<u4"), ("kind", "u1")])
"""A dropped document of a piece, the document that it repeats, and the number of the dedup kind that found it."""

NO_PLACE = 0xFFFFFFFF
"""``kept_place`` of a document dropped by a screen: it repeats no document of the corpus."""


CONTAMINATED = "contaminated"
"""Reason of a document that a screen drops."""


def decide(
    found: list[StageReport],
    kinds: list[int],
    ranks: list[int],
    priorities: list[int],
    signed: list[StageReport],
    own: int,
    config: PrepareConfig,
) -> StageReport:
    """Write ``verdicts``: ``VERDICT`` records by piece and row. ``kinds`` holds the dedup kind of each
    search, ``priorities`` the source priority of each piece. Only the first ``own`` pieces get verdicts; the others
    are earlier data.

    ``details`` holds, per piece, the ``offsets`` of its records (one more than pieces), the ``documents`` and
    ``characters`` kept, what was ``dropped`` by reason and how many are only ``reported``.
    """
    determined = {
        "found": [report.fingerprint for report in found],
        "signed": [report.fingerprint for report in signed],
        "ranks": ranks,
        "own": own,
        "keep": [config.keep_copy, *(priorities if config.keep_copy == "content" else [])],
    }

    def produce(folder: Path, key: str) -> StageReport:
        screened = _screened(signed[:own], config)
        edges = [mapped(report, "edges", EDGE) for report in found]
        verdicts_of_pairs = _verdicts(edges, kinds, ranks, _choice(ranks, priorities, signed, config))
        places, verdicts = _sorted(verdicts_of_pairs, screened)
        offsets = np.searchsorted(places, np.arange(own + 1)).tolist()
        verdicts = verdicts[: offsets[-1]]
        reasons = reasons_of(config)
        documents, kept_characters, dropped = [], [], []
        for place, report in enumerate(signed[:own]):
            gone = verdicts[offsets[place] : offsets[place + 1]]
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
            docs_in=sum(report.docs_out for report in signed[:own]),
            docs_out=sum(documents),
            chars_in=sum(report.chars_out for report in signed[:own]),
            chars_out=sum(kept_characters),
            dropped=totals,
            artifacts={"verdicts": storage.write(folder / "verdicts", verdicts.tobytes())},
            details={
                "offsets": offsets,
                "documents": documents,
                "characters": kept_characters,
                "dropped": dropped,
                "reported": _reported(signed[:own], config),
            },
        )

    return ledger.run(config.execution.work, "decide", 0, determined, produce)


def reasons_of(config: PrepareConfig) -> list[str]:
    """Why a document is dropped, by the number of the dedup kind."""
    return [CONTAMINATED if isinstance(kind, Screen) else f"duplicate_{kind.kind()}" for kind in config.dedup]


def _screened(signed: list[StageReport], config: PrepareConfig) -> tuple[np.ndarray, np.ndarray]:
    """Places and ``VERDICT`` records of the documents that screens drop, one a document."""
    places, rows = [], []
    for number, kind in enumerate(config.dedup):
        if isinstance(kind, Screen) and kind.action == "drop":
            for place, report in enumerate(signed):
                found = [match.row for match in matches(report, number)]
                places += [place] * len(found)
                rows += [(row, NO_PLACE, 0, number) for row in found]
    where, record = np.array(places, np.int64), np.array(rows, VERDICT)
    _, first = np.unique(where << 32 | record["row"], return_index=True)
    return where[first], record[first]


def _reported(signed: list[StageReport], config: PrepareConfig) -> list[int]:
    """Per piece how many documents screens only report."""
    reporting = [n for n, kind in enumerate(config.dedup) if isinstance(kind, Screen) and kind.action == "report"]
    return [sum(len(matches(report, number)) for number in reporting) for report in signed]


def _sorted(*parts: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Places and records of all parts by (place, row)."""
    places = np.concatenate([place for place, _ in parts])
    records = np.concatenate([record for _, record in parts])
    order = np.lexsort((records["row"], places))
    return places[order], records[order]


def _choice(
    ranks: list[int], priorities: list[int], signed: list[StageReport], config: PrepareConfig
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A function of nodes and labels (index of the first node of each one's cluster) that gives for each node the index
    of the one that stays."""
    if config.keep_copy == "first":
        return lambda _, labels: labels
    contents = {rank: mapped(report, "content", np.dtype("<u8")) for rank, report in zip(ranks, signed, strict=True)}
    priority_of = np.array(priorities, np.int64)[np.argsort(ranks)]

    def chosen(nodes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        owners, rows = (nodes >> np.uint64(32)).astype(np.int64), nodes & LOW
        content = np.empty(len(nodes), np.uint64)
        for owner in np.unique(owners).tolist():
            here = np.flatnonzero(owners == owner)
            content[here] = contents[owner][rows[here]]
        order = np.lexsort((nodes, content, -priority_of[owners], labels))
        clusters, first = np.unique(labels[order], return_index=True)
        best: np.ndarray = order[first][np.searchsorted(clusters, labels)]
        return best

    return chosen


def _verdicts(
    edges: list[np.ndarray],
    kinds: list[int],
    ranks: list[int],
    choice: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Places and ``VERDICT`` records of all documents that repeat another."""
    nodes = np.empty(0, np.uint64)
    for part in edges:
        nodes = np.unique(np.concatenate([nodes, part["first"], part["second"]]))
    stays = choice(nodes, components(nodes, ((part["first"], part["second"]) for part in edges)))
    kind = _finders(nodes, edges, kinds)
    gone = np.flatnonzero(stays != np.arange(len(nodes)))
    kept = nodes[stays[gone]]
    place_of = np.argsort(ranks) if ranks else np.empty(0, int)
    places = place_of[(nodes[gone] >> np.uint64(32)).astype(np.int64)]
    found = np.empty(len(gone), VERDICT)
    found["row"], found["kind"] = nodes[gone] & LOW, kind[gone]
    found["kept_place"] = place_of[(kept >> np.uint64(32)).astype(np.int64)]
    found["kept_row"] = kept & LOW
    return places, found


def _finders(nodes: np.ndarray, edges: list[np.ndarray], kinds: list[int]) -> np.ndarray:
    """uint8: the first kind that found a node to repeat an earlier one; where all its copies are later ones, the first
    kind that found any."""
    found = {name: np.full(len(nodes), 255, np.uint8) for name in ("first", "second")}
    for number, part in zip(kinds, edges, strict=True):
        for name, table in found.items():
            np.minimum.at(table, np.searchsorted(nodes, part[name]), np.uint8(number))
    finders: np.ndarray = np.where(found["second"] < 255, found["second"], found["first"])
    return finders


def verdict(place: int, decided: StageReport) -> np.ndarray:
    """The ``VERDICT`` records of one piece, sorted by row."""
    start, stop = decided.details["offsets"][place : place + 2]
    return mapped(decided, "verdicts", VERDICT)[start:stop]


def places_to_name(decided: StageReport) -> list[int]:
    """The pieces of which some documents are in the ledger of copies."""
    tables = zip(decided.details["dropped"], decided.details["reported"], strict=True)
    return [place for place, (dropped, reported) in enumerate(tables) if dropped or reported]
