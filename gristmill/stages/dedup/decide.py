"""Say for every piece which documents go as copies, and which document, one that stays, each repeats.

Documents come in the order of falling priority, then of document order (``keep_copy: first``) or of the hash of their
text (``keep_copy: content``). See ``_verdicts`` for the rule.
"""

import os
import tempfile
from pathlib import Path

import numpy as np

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup, Screen
from gristmill.stages.dedup import _memory
from gristmill.stages.dedup._comparison import Comparison
from gristmill.stages.dedup._verdicts import GONE, STAYS, Found, Verdicts
from gristmill.stages.dedup.records import EDGE, LOW, MEMBER, Numbering, by_piece, mapped, ranks_of
from gristmill.stages.dedup.sign import matches
from gristmill.storage import disk
from gristmill.types import StageReport

VERDICT = np.dtype([("row", "<u4"), ("kept_place", "<u4"), ("kept_row", "<u4"), ("kind", "u1")])
"""A dropped document of a piece, the document that it repeats, and the number of the dedup kind that found it."""

NO_PLACE = 0xFFFFFFFF
"""``kept_place`` of a document dropped by a screen: it repeats no document of the corpus."""


def decide(
    found: list[StageReport],
    kinds: list[int],
    priorities: list[int],
    signed: list[StageReport],
    own: int,
    config: PrepareConfig,
) -> StageReport:
    """Write ``verdicts``: ``VERDICT`` records by piece and row. ``kinds`` holds the dedup kind of each
    search, ``priorities`` the source priority of each piece. Only the first ``own`` pieces get verdicts; the others
    are earlier data, of which nothing is decided again.

    ``details`` holds, per piece, the ``offsets`` of its records (one more than pieces), the ``documents`` and
    ``characters`` kept, what was ``dropped`` by reason, in documents and in characters (``dropped_characters``), and
    how many are only ``reported``.
    """
    ranks = ranks_of(priorities)
    determined = {  # not ``found``: what is found follows from the signatures, however the searches were cut
        "signed": [report.fingerprint for report in signed],
        "ranks": ranks,
        "own": own,
        "gone": [report.details.get("gone") for report in signed[own:]],
        "keep": [config.keep_copy, *(priorities if config.keep_copy == "content" else [])],
    }

    def produce(folder: Path, key: str) -> StageReport:
        numbering = Numbering(ranks, signed)
        best = _settled(folder, found, kinds, priorities, signed, own, config)
        screened, screened_rows = _screened(signed[:own], config)
        place_of = np.argsort(np.array(ranks, np.int64))
        reasons = [kind.reason for kind in config.dedup]
        offsets, documents, kept_characters, dropped, lost = [0], [], [], [], []
        with disk.Writer(folder / "verdicts") as out:
            for place, report in enumerate(signed[:own]):
                piece = numbering.piece(ranks[place])
                copies = _repeats(best[piece], numbering, place_of)
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


def _screened(signed: list[StageReport], config: PrepareConfig) -> tuple[np.ndarray, np.ndarray]:
    """Places and ``VERDICT`` records of the documents that screens drop, one a document."""
    places, rows = [], []
    for number, screen in config.dedup_of(Screen).items():
        if screen.action == "drop":
            for place, report in enumerate(signed):
                found = [match.row for match in matches(report, number)]
                places += [place] * len(found)
                rows += [(row, NO_PLACE, 0, number) for row in found]
    where, record = np.array(places, np.int64), np.array(rows, VERDICT)
    _, first = np.unique(where << 32 | record["row"], return_index=True)
    return where[first], record[first]


def _reported(signed: list[StageReport], config: PrepareConfig) -> list[int]:
    """Per piece how many documents screens only report."""
    reporting = [number for number, screen in config.dedup_of(Screen).items() if screen.action == "report"]
    return [sum(len(matches(report, number)) for number in reporting) for report in signed]


def _settled(
    folder: Path,
    found: list[StageReport],
    kinds: list[int],
    priorities: list[int],
    signed: list[StageReport],
    own: int,
    config: PrepareConfig,
) -> np.ndarray:
    """``Verdicts.best`` of all documents."""
    ranks, memory = ranks_of(priorities), int(config.execution.memory)
    numbering = Numbering(ranks, signed)
    compare = {kind: Comparison(kind, plugin, ranks, signed, memory) for kind, plugin in config.dedup_of(Dedup).items()}
    verdicts = Verdicts(
        numbering=numbering,
        old=sum(report.docs_out for report in signed[own:]),
        order=_Order(priorities, signed, by_content=config.keep_copy == "content"),
        state=_array(folder, len(numbering), np.dtype(np.uint8), 0, _memory.resident(memory)),
        best=_array(folder, len(numbering), np.dtype(np.int64), STAYS, _memory.resident(memory)),
        step=_memory.edges(memory),
    )
    for report, rank in zip(signed[own:], ranks[own:], strict=True):
        verdicts.state[numbering.piece(rank)][_gone(report)] = GONE
    searches = [
        Found(
            kind=kind,
            edges=mapped(report, "edges", EDGE),
            members=mapped(report, "members", MEMBER),
            sizes=mapped(report, "sizes", np.dtype("<i8")),
            copies=compare[kind].copies,
        )
        for report, kind in zip(found, kinds, strict=True)
    ]
    verdicts.settle(searches, folder)
    return verdicts.best


def _gone(signed: StageReport) -> np.ndarray:
    """The rows of a piece of an earlier generation that went then; of a published file none."""
    if "gone" not in signed.details:
        return np.empty(0, np.uint32)
    return np.asarray(mapped(signed, "verdicts", VERDICT)[slice(*signed.details["gone"])]["row"])


class _Order:
    """Class and hash by which documents come, before their number."""

    def __init__(self, priorities: list[int], signed: list[StageReport], *, by_content: bool) -> None:
        self._by_content = by_content
        falling = {priority: number for number, priority in enumerate(sorted(set(priorities), reverse=True))}
        self._pieces = {
            rank: (falling[priority], report)
            for rank, priority, report in zip(ranks_of(priorities), priorities, signed, strict=True)
        }

    def __call__(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        number, hashed = np.zeros(len(nodes), np.uint32), np.zeros(len(nodes), np.uint64)
        for rank, here in by_piece(nodes) if self._by_content else []:
            number[here], report = self._pieces[rank]
            hashed[here] = mapped(report, "content", np.dtype("<u8"))[nodes[here] & LOW]
        return number, hashed


def _array(folder: Path, length: int, dtype: np.dtype, value: int, resident: int) -> np.ndarray:
    """An array full of ``value``, in memory or, above ``resident`` bytes, in a file without a name.

    The file's blocks are taken beforehand: on a full disk, writing to a hole of a mapped file ends the process.
    """
    if length * dtype.itemsize <= resident:
        return np.full(length, value, dtype)
    with disk.translated(folder), tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, length * dtype.itemsize)
        found = np.memmap(file, dtype, "r+", shape=(length,))
    found[:] = value
    return found


def _repeats(best: np.ndarray, numbering: Numbering, place_of: np.ndarray) -> np.ndarray:
    """``VERDICT`` records of the documents of a piece that repeat another, from their ``Verdicts.best``."""
    gone = np.flatnonzero(best != STAYS)
    kinds, numbers = np.divmod(best[gone], len(numbering))
    kept = numbering.nodes(numbers)
    found = np.empty(len(gone), VERDICT)
    found["row"], found["kind"] = gone, kinds
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
