"""Say for every piece which documents go as copies, and which document each repeats.

``keep_copy: first``: a document goes when some pair joins it to an earlier one, whatever comes later; it repeats the
smallest such document, or what that one repeats. ``keep_copy: content``: of each connected component one stays.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gristmill import ledger, storage
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Screen
from gristmill.stages import _memory
from gristmill.stages._components import flatten, hang, join
from gristmill.stages.records import EDGE, LOW, Numbering, mapped
from gristmill.stages.sign import matches
from gristmill.types import StageReport

VERDICT = np.dtype([("row", "<u4"), ("kept_place", "<u4"), ("kept_row", "<u4"), ("kind", "u1")])
"""A dropped document of a piece, the document that it repeats, and the number of the dedup kind that found it."""

NO_PLACE = 0xFFFFFFFF
"""``kept_place`` of a document dropped by a screen: it repeats no document of the corpus."""


CONTAMINATED = "contaminated"
"""Reason of a document that a screen drops."""

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
    ``characters`` kept, what was ``dropped`` by reason, in documents and in characters (``dropped_characters``), and
    how many are only ``reported``.
    """
    determined = {  # not ``found``: what is found follows from the signatures, however the searches were cut
        "signed": [report.fingerprint for report in signed],
        "ranks": ranks,
        "own": own,
        "keep": [config.keep_copy, *(priorities if config.keep_copy == "content" else [])],
    }

    def produce(folder: Path, key: str) -> StageReport:
        numbering = Numbering(ranks, signed)
        memory = int(config.execution.memory)
        parents, finders = _clusters(
            folder, found, kinds, numbering, hang if config.keep_copy == "first" else join, memory
        )
        if config.keep_copy == "content":
            _prefer_content(parents, folder, numbering, ranks, priorities, signed, _memory.resident(memory))
        screened, screened_rows = _screened(signed[:own], config)
        place_of = np.argsort(np.array(ranks, np.int64))
        reasons = reasons_of(config)
        offsets, documents, kept_characters, dropped, lost = [0], [], [], [], []
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
                sizes = np.bincount(gone["kind"], lengths[gone["row"]], len(reasons)).astype(np.int64).tolist()
                lost.append(
                    {reason: size for reason, size in zip(reasons, sizes, strict=True) if reason in dropped[-1]}
                )
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
                "dropped_characters": lost,
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
    folder: Path,
    found: list[StageReport],
    kinds: list[int],
    numbering: Numbering,
    connect: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
    memory: int,
) -> tuple[np.ndarray, np.ndarray]:
    """By number of the document: ``parents``, the root of its tree in the forest that ``connect`` makes of all pairs,
    the smallest number in it; ``finders``, uint8, the first kind that found it to repeat an earlier one, ``FIRST`` and
    the first kind that found any where all its copies are later ones, and 255 where it has none."""
    dtype = np.dtype(np.uint32 if len(numbering) <= 1 << 32 else np.int64)
    parents = _array(folder, len(numbering), dtype, _memory.resident(memory))
    finders = _array(folder, len(numbering), np.dtype(np.uint8), _memory.resident(memory))
    step = _memory.edges(memory)
    for start in range(0, len(parents), step):
        parents[start : start + step] = np.arange(start, min(start + step, len(parents)))
    finders[:] = 255
    for report, kind in zip(found, kinds, strict=True):
        every = mapped(report, "edges", EDGE)
        for edges in (every[start : start + step] for start in range(0, len(every), step)):
            first, second = numbering.of(edges["first"]), numbering.of(edges["second"])
            connect(parents, first, second)
            np.minimum.at(finders, first, np.uint8(kind + FIRST))
            np.minimum.at(finders, second, np.uint8(kind))
    flatten(parents)
    return parents, finders


def _array(folder: Path, length: int, dtype: np.dtype, resident: int) -> np.ndarray:
    """An array to be filled, in memory or, above ``resident`` bytes, in a file without a name.

    The file's blocks are taken beforehand: on a full disk, writing to a hole of a mapped file ends the process.
    """
    if length * dtype.itemsize <= resident:
        return np.empty(length, dtype)
    with storage.translated(folder), tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, length * dtype.itemsize)
        return np.memmap(file, dtype, "r+", shape=(length,))


def _prefer_content(
    parents: np.ndarray,
    folder: Path,
    numbering: Numbering,
    ranks: list[int],
    priorities: list[int],
    signed: list[StageReport],
    resident: int,
) -> None:
    """Let ``parents`` name, of each cluster, the document of the highest priority and then of the smallest hash of its
    text. Takes 12 bytes more for each document (16 above 4.3 billion), piece after piece.

    The root of a cluster has its highest priority, since ranks go by priority.
    """
    least = _array(folder, len(parents), np.dtype(np.uint64), resident)
    chosen = _array(folder, len(parents), parents.dtype, resident)
    least[:], chosen[:] = np.iinfo(np.uint64).max, np.iinfo(parents.dtype).max
    by_rank = np.array(priorities)[np.argsort(ranks)]

    def preferred(place: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Roots, hashes and numbers of the documents of a piece that have the priority of their root."""
        piece = numbering.piece(ranks[place])
        roots = parents[piece]
        fits = by_rank[numbering.ranks(roots)] == priorities[place]
        content = mapped(signed[place], "content", np.dtype("<u8"))
        return roots[fits], content[fits], np.arange(piece.start, piece.stop, dtype=parents.dtype)[fits]

    for place in range(len(signed)):
        roots, content, _ = preferred(place)
        np.minimum.at(least, roots, content)
    for place in range(len(signed)):
        roots, content, numbers = preferred(place)
        best = content == least[roots]
        np.minimum.at(chosen, roots[best], numbers[best])
    for rank in range(len(signed)):
        parents[numbering.piece(rank)] = chosen[parents[numbering.piece(rank)]]


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
