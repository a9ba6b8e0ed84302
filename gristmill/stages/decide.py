"""Cluster the pairs of copies, and say for every piece which documents go and which one each repeats."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gristmill import ledger, storage
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Screen
from gristmill.stages._components import flatten, join
from gristmill.stages.records import EDGE, LOW, Numbering, by_piece, mapped
from gristmill.stages.sign import matches
from gristmill.types import StageReport

VERDICT = np.dtype([("row", "<u4"), ("kept_place", "<u4"), ("kept_row", "<u4"), ("kind", "u1")])
"""A dropped document of a piece, the document that it repeats, and the number of the dedup kind that found it."""

NO_PLACE = 0xFFFFFFFF
"""``kept_place`` of a document dropped by a screen: it repeats no document of the corpus."""


CONTAMINATED = "contaminated"
"""Reason of a document that a screen drops."""

CHUNK_EDGES = 1 << 22
"""Edges looked at together: 200 MB of further arrays."""

MEMORY = 8 << 30
"""Bytes of the forest (4 a document, 8 above 4.3 billion) that are kept in memory; a larger one is a mapped file."""

FIRST = 128
"""Added to the kind in ``finders`` where it found only later documents to repeat this one."""


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
        numbering = Numbering(ranks, signed)
        parents, finders = _clusters(folder, found, kinds, numbering)
        if config.keep_copy == "content":
            _prefer_content(parents, finders, numbering, ranks, priorities, signed)
        screened, screened_rows = _screened(signed[:own], config)
        place_of = np.argsort(np.array(ranks, np.int64))
        reasons = reasons_of(config)
        offsets, documents, kept_characters, dropped = [0], [], [], []
        with storage.Writer(folder / "verdicts") as out:
            for place, report in enumerate(signed[:own]):
                piece = numbering.piece(ranks[place])
                copies = _repeats(piece, parents, finders, numbering, place_of)
                bounds = np.searchsorted(screened, [place, place + 1])
                gone = np.concatenate([copies, screened_rows[slice(*bounds)]])
                gone = gone[np.argsort(gone["row"])]
                out.write(gone.tobytes())
                lengths = mapped(report, "characters", np.dtype("<i8"))
                offsets.append(offsets[-1] + len(gone))
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
            artifacts={"verdicts": out.artifact},
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


def _clusters(
    folder: Path, found: list[StageReport], kinds: list[int], numbering: Numbering
) -> tuple[np.ndarray, np.ndarray]:
    """By number of the document: ``parents``, the smallest number of its cluster; ``finders``, uint8, the first kind
    that found it to repeat an earlier one, ``FIRST`` and the first kind that found any where all its copies are later
    ones, and 255 where it has none."""
    dtype = np.dtype(np.uint32 if len(numbering) <= 1 << 32 else np.int64)
    parents = _array(folder, len(numbering), dtype)
    for start in range(0, len(parents), CHUNK_EDGES):
        parents[start : start + CHUNK_EDGES] = np.arange(start, min(start + CHUNK_EDGES, len(parents)))
    finders = np.full(len(numbering), 255, np.uint8)
    for report, kind in zip(found, kinds, strict=True):
        for edges in _chunks(mapped(report, "edges", EDGE)):
            first, second = numbering.of(edges["first"]), numbering.of(edges["second"])
            join(parents, first, second)
            np.minimum.at(finders, first, np.uint8(kind + FIRST))
            np.minimum.at(finders, second, np.uint8(kind))
    flatten(parents)
    return parents, finders


def _array(folder: Path, length: int, dtype: np.dtype) -> np.ndarray:
    """An array to be filled, in memory or, above ``MEMORY`` bytes, in a file without a name.

    The file's blocks are taken beforehand: on a full disk, writing to a hole of a mapped file ends the process.
    """
    if length * dtype.itemsize <= MEMORY:
        return np.empty(length, dtype)
    with storage.translated(folder), tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, length * dtype.itemsize)
        return np.memmap(file, dtype, "r+", shape=(length,))


def _chunks(edges: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(edges), CHUNK_EDGES):
        yield edges[start : start + CHUNK_EDGES]


def _prefer_content(
    parents: np.ndarray,
    finders: np.ndarray,
    numbering: Numbering,
    ranks: list[int],
    priorities: list[int],
    signed: list[StageReport],
) -> None:
    """Let ``parents`` name, of each cluster, the document of the highest priority and then of the smallest hash of its
    text. Takes 60 bytes for each document that is in a cluster."""
    numbers = np.flatnonzero(finders < 255)
    nodes, clusters = numbering.nodes(numbers), parents[numbers]
    content, priority = np.empty(len(nodes), np.uint64), np.empty(len(nodes), np.int64)
    by_rank = {rank: place for place, rank in enumerate(ranks)}
    for rank, here in by_piece(nodes):
        place = by_rank[rank]
        content[here] = mapped(signed[place], "content", np.dtype("<u8"))[nodes[here] & LOW]
        priority[here] = priorities[place]
    order = np.lexsort((numbers, content, -priority, clusters))
    sorted_clusters = clusters[order]
    new = np.ones(len(order), bool)
    new[1:] = sorted_clusters[1:] != sorted_clusters[:-1]
    parents[numbers[order]] = numbers[order[new]][np.cumsum(new) - 1]


def _repeats(
    piece: slice, parents: np.ndarray, finders: np.ndarray, numbering: Numbering, place_of: np.ndarray
) -> np.ndarray:
    """``VERDICT`` records of the documents of a piece that repeat another."""
    stays = np.asarray(parents[piece])
    gone = np.flatnonzero(stays != np.arange(piece.start, piece.stop))
    kept = numbering.nodes(stays[gone].astype(np.int64))
    found = np.empty(len(gone), VERDICT)
    found["row"], found["kind"] = gone, finders[piece][gone] % FIRST
    found["kept_place"] = place_of[(kept >> np.uint64(32)).astype(np.int64)]
    found["kept_row"] = kept & LOW
    return found


def verdict(place: int, decided: StageReport) -> np.ndarray:
    """The ``VERDICT`` records of one piece, sorted by row."""
    start, stop = decided.details["offsets"][place : place + 2]
    return mapped(decided, "verdicts", VERDICT)[start:stop]


def places_to_name(decided: StageReport) -> list[int]:
    """The pieces of which some documents are in the ledger of copies."""
    tables = zip(decided.details["dropped"], decided.details["reported"], strict=True)
    return [place for place, (dropped, reported) in enumerate(tables) if dropped or reported]
