"""Remove parts of documents that stand in an earlier place of the corpus: after the copies are gone, so that no part is
removed for the sake of one in a document that does not stay."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill import ledger, progress, storage
from gristmill.columns import strings
from gristmill.config import PrepareConfig
from gristmill.dedup.base import SpanDedup
from gristmill.stages._arrow import DocumentWriter, characters
from gristmill.stages._kept import kept
from gristmill.stages.decide import VERDICT
from gristmill.stages.records import mapped
from gristmill.types import DOCUMENT_SCHEMA, StageReport

SPAN = np.dtype([("high", "<u8"), ("low", "<u8"), ("span", "<u4")])
"""128 bits of hash and the number of the span in its piece."""

PLACE = np.dtype([("row", "<u4"), ("start", "<u4"), ("stop", "<u4")])
"""Where a span is: row in the cleaned piece, bytes in the text."""

GONE = np.dtype([("rank", "<u4"), ("span", "<u4")])
"""A span that repeats an earlier one."""

RANGE_SPANS = 16_000_000


def kinds(config: PrepareConfig) -> list[SpanDedup]:
    """The span kinds of a configuration, in order."""
    return [kind for kind in config.dedup if isinstance(kind, SpanDedup)]


def sign_spans(place: int, cleaned: StageReport, decided: StageReport, config: PrepareConfig) -> StageReport:
    """Write ``<n>.spans`` (``SPAN`` sorted by key, then span) and ``<n>.places`` (``PLACE``) for each span kind of the
    kept documents of a piece; ``details["spans"]`` counts them."""
    determined = {
        "clean": cleaned.fingerprint,
        "verdict": decided.fingerprint,
        "place": place,
        "kinds": [kind.identity() for kind in kinds(config)],
    }

    def produce(folder: Path, key: str) -> StageReport:
        keys: list[list[np.ndarray]] = [[] for _ in kinds(config)]
        places: list[list[np.ndarray]] = [[] for _ in kinds(config)]
        for batch in kept(place, cleaned, decided):
            texts = batch.documents.column("text")
            for number, kind in enumerate(kinds(config)):
                found = kind.spans(texts)
                where = np.empty(len(found.start), PLACE)
                where["row"], where["start"], where["stop"] = batch.rows[found.document], found.start, found.stop
                keys[number].append(found.keys)
                places[number].append(where)
            progress.advance(len(texts), texts.nbytes)
        artifacts, counts = {}, []
        for number in range(len(keys)):
            hashes = np.concatenate([np.empty((0, 2), np.uint64), *keys[number]])
            records = np.empty(len(hashes), SPAN)
            records["high"], records["low"], records["span"] = hashes[:, 0], hashes[:, 1], np.arange(len(hashes))
            records = records[np.lexsort((records["span"], records["low"], records["high"]))]
            where = np.concatenate([np.empty(0, PLACE), *places[number]])
            artifacts[f"{number}.spans"] = storage.write(folder / f"{number}.spans", records.tobytes())
            artifacts[f"{number}.places"] = storage.write(folder / f"{number}.places", where.tobytes())
            counts.append(len(records))
        return StageReport(
            stage="sign_spans",
            shard=cleaned.shard,
            piece=cleaned.piece,
            fingerprint=key,
            artifacts=artifacts,
            details={"spans": counts},
        )

    return ledger.run(config.execution.work, "sign_spans", cleaned.shard, determined, produce)


def span_ranges(signed: list[StageReport]) -> int:
    """How many key ranges keep each within the memory of a worker."""
    most = max((sum(counts) for counts in zip(*(report.details["spans"] for report in signed), strict=True)), default=0)
    return max(1, -(-most // RANGE_SPANS))


def find_spans(
    number: int, count: int, ranks: list[int], signed: list[StageReport], config: PrepareConfig
) -> StageReport:
    """Write ``<n>.gone``, for each span kind the ``GONE`` records of key range ``number`` of ``count``, sorted."""
    determined = {"signed": [report.fingerprint for report in signed], "ranks": ranks, "range": [number, count]}

    def produce(folder: Path, key: str) -> StageReport:
        artifacts = {}
        for kind in range(len(kinds(config))):
            gone = _repeats(kind, number, count, ranks, signed)
            artifacts[f"{kind}.gone"] = storage.write(folder / f"{kind}.gone", gone.tobytes())
        return StageReport(stage="find_spans", shard=number, fingerprint=key, artifacts=artifacts)

    return ledger.run(config.execution.work, "find_spans", number, determined, produce)


def _repeats(kind: int, number: int, count: int, ranks: list[int], signed: list[StageReport]) -> np.ndarray:
    low = np.uint64(number * 2**64 // count)
    high = np.uint64((number + 1) * 2**64 // count - 1)
    slices, owners = [np.empty(0, SPAN)], [np.empty(0, np.uint32)]
    for rank, report in zip(ranks, signed, strict=True):
        spans = mapped(report, f"{kind}.spans", SPAN)
        start, stop = np.searchsorted(spans["high"], low, "left"), np.searchsorted(spans["high"], high, "right")
        slices.append(spans[start:stop])
        owners.append(np.full(stop - start, rank, np.uint32))
    every, owner = np.concatenate(slices), np.concatenate(owners)
    progress.advance(len(every), 0)
    order = np.lexsort((every["span"], owner, every["low"], every["high"]))
    every, owner = every[order], owner[order]
    again = np.zeros(len(every), bool)
    again[1:] = (every["high"][1:] == every["high"][:-1]) & (every["low"][1:] == every["low"][:-1])
    gone = np.empty(int(again.sum()), GONE)
    gone["rank"], gone["span"] = owner[again], every["span"][again]
    return gone[np.lexsort((gone["span"], gone["rank"]))]


def trim(
    place: int,
    cleaned: StageReport,
    decided: StageReport,
    rank: int,
    signed: StageReport,
    found: list[StageReport],
    config: PrepareConfig,
) -> StageReport:
    """Write ``documents.arrow``: the kept documents of a piece without the spans that stand earlier, and ``characters``
    as ``sign`` does. Documents of which too little is left are dropped as ``little_left``."""
    determined = {
        "clean": cleaned.fingerprint,
        "verdict": decided.fingerprint,
        "place": place,
        "found": [report.fingerprint for report in found],
        "kinds": [kind.identity() for kind in kinds(config)],
    }

    def produce(folder: Path, key: str) -> StageReport:
        cuts = _cuts(rank, signed, found, config)
        least = max(kind.min_left for kind in kinds(config))
        out = DocumentWriter(folder / "documents.arrow")
        schema, count, size, before, documents = DOCUMENT_SCHEMA, 0, 0, 0, 0
        with storage.Writer(folder / "characters") as lengths:
            for batch in kept(place, cleaned, decided):
                trimmed = _trimmed(batch.documents, batch.rows, cuts, least)
                out.write(trimmed)
                schema = trimmed.schema
                texts = trimmed.column("text")
                lengths.write(pc.utf8_length(texts).to_numpy().astype("<i8").tobytes())
                documents, count = documents + len(batch.rows), count + len(texts)
                before, size = before + characters(batch.documents.column("text")), size + characters(texts)
                progress.advance(len(batch.rows), texts.nbytes)
        return StageReport(
            stage="trim",
            shard=cleaned.shard,
            piece=cleaned.piece,
            fingerprint=key,
            docs_in=documents,
            docs_out=count,
            chars_in=before,
            chars_out=size,
            dropped={"little_left": documents - count} if documents > count else {},
            artifacts={"documents": out.close(schema), "characters": lengths.artifact},
        )

    return ledger.run(config.execution.work, "trim", cleaned.shard, determined, produce)


def _cuts(rank: int, signed: StageReport, found: list[StageReport], config: PrepareConfig) -> np.ndarray:
    """``PLACE`` records of all spans of the piece that go, by row and start."""
    parts = [np.empty(0, PLACE)]
    for kind in range(len(kinds(config))):
        places = mapped(signed, f"{kind}.places", PLACE)
        for report in found:
            gone = mapped(report, f"{kind}.gone", GONE)
            start, stop = np.searchsorted(gone["rank"], [rank, rank + 1])
            parts.append(places[gone["span"][start:stop]])
    cuts = np.concatenate(parts)
    return cuts[np.lexsort((cuts["start"], cuts["row"]))]


def _trimmed(documents: pa.RecordBatch, rows: np.ndarray, cuts: np.ndarray, least: int) -> pa.RecordBatch:
    """The batch without its cuts and without the documents of which fewer than ``least`` characters are left."""
    own = cuts[slice(*np.searchsorted(cuts["row"], [rows[0], rows[-1] + 1]))] if len(rows) else cuts[:0]
    if not len(own):
        return documents
    changed, first = np.unique(own["row"], return_index=True)
    places = np.searchsorted(rows, changed)
    column = documents.column("text")
    texts = [
        _without(column[place].as_py().encode(), own[start:stop])
        for place, start, stop in zip(places.tolist(), first.tolist(), [*first[1:].tolist(), len(own)], strict=True)
    ]
    mask = np.zeros(len(rows), bool)
    mask[places] = True
    replaced = pc.replace_with_mask(column, pa.array(mask), strings(texts))
    stays = np.ones(len(rows), bool)
    stays[places] = [len(text) >= least and not text.isspace() for text in texts]
    field = documents.schema.field("text")
    return documents.set_column(documents.schema.get_field_index("text"), field, replaced).filter(pa.array(stays))


def _without(data: bytes, cuts: np.ndarray) -> str:
    """The text without some byte ranges, which may overlap; cut places are joined as they come to stand."""
    parts, position = [], 0
    for start, stop in zip(cuts["start"].tolist(), cuts["stop"].tolist(), strict=True):
        if start > position:
            parts.append(data[position:start])
        position = max(position, stop)
    parts.append(data[position:])
    return b"".join(parts).decode().rstrip("\n")


def settle(trimmed: list[StageReport], config: PrepareConfig) -> StageReport:
    """A verdict that drops nothing, on the trimmed pieces: what comes next need not know that they were trimmed."""
    determined = {"trimmed": [report.fingerprint for report in trimmed]}

    def produce(folder: Path, key: str) -> StageReport:
        documents = [report.docs_out for report in trimmed]
        total = sum(documents)
        return StageReport(
            stage="settle",
            shard=0,
            fingerprint=key,
            docs_in=total,
            docs_out=total,
            chars_in=sum(report.chars_out for report in trimmed),
            chars_out=sum(report.chars_out for report in trimmed),
            artifacts={"verdicts": storage.write(folder / "verdicts", np.empty(0, VERDICT).tobytes())},
            details={
                "offsets": [0] * (len(trimmed) + 1),
                "documents": documents,
                "characters": [report.chars_out for report in trimmed],
            },
        )

    return ledger.run(config.execution.work, "settle", 0, determined, produce)
