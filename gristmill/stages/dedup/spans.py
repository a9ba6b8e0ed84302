"""Remove parts of documents that stand in an earlier place of the corpus: after the copies are gone, so that no part is
removed for the sake of one in a document that does not stay."""

from bisect import bisect_left, bisect_right
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gristmill import ledger
from gristmill.columns import numbers, strings
from gristmill.config import PrepareConfig
from gristmill.dedup.base import SpanDedup
from gristmill.processes import progress
from gristmill.stages.dedup import _memory
from gristmill.stages.dedup._kept import kept
from gristmill.stages.dedup.decide import VERDICT
from gristmill.stages.dedup.list_duplicates import DUPLICATES, LITTLE_LEFT, TRIMMED
from gristmill.stages.dedup.records import mapped
from gristmill.stages.ingest._arrow import DocumentWriter, characters
from gristmill.storage import disk
from gristmill.text.whitespace import is_blank
from gristmill.types import DOCUMENT_SCHEMA, StageReport

SPAN = np.dtype([("high", "<u8"), ("low", "<u8"), ("span", "<u4"), ("row", "<u4")])
"""128 bits of hash, the number of the span in its piece, and its row in the cleaned piece."""

PLACE = np.dtype([("row", "<u4"), ("start", "<u4"), ("stop", "<u4")])
"""Where a span is: row in the cleaned piece, bytes in the text."""

GONE = np.dtype([("rank", "<u4"), ("span", "<u4")])
"""A span that repeats an earlier one, or one that is repeated."""


def kinds(config: PrepareConfig) -> list[SpanDedup]:
    """The span kinds of a configuration, in order."""
    return [*config.dedup_of(SpanDedup).values()]


def sign_spans(place: int, cleaned: StageReport, decided: StageReport, config: PrepareConfig) -> StageReport:
    """Write ``<n>.spans`` (``SPAN`` sorted by key, then span) and ``<n>.places`` (``PLACE``) for each span kind of the
    kept documents of a piece; ``details["spans"]`` counts them."""
    determined = {
        "clean": cleaned.fingerprint,
        "verdict": decided.fingerprint,
        "place": place,
        "kinds": [kind.identity() for kind in kinds(config)],
        "programs": config.programs,
    }

    def produce(folder: Path, key: str) -> StageReport:
        keys: list[list[np.ndarray]] = [[] for _ in kinds(config)]
        places: list[list[np.ndarray]] = [[] for _ in kinds(config)]
        for batch in kept(place, cleaned, decided):
            texts = batch.documents.column("text")
            programs = batch.documents.column("source")[:1].to_pylist() in [[label] for label in config.programs]
            for number, kind in enumerate(kinds(config)):
                found = kind.spans(texts, programs=programs)
                where = np.empty(len(found.start), PLACE)
                where["row"], where["start"], where["stop"] = batch.rows[found.document], found.start, found.stop
                keys[number].append(found.keys)
                places[number].append(where)
            progress.advance(len(texts), texts.nbytes)
        artifacts, counts = {}, []
        for number in range(len(keys)):
            hashes = np.concatenate([np.empty((0, 2), np.uint64), *keys[number]])
            records = np.empty(len(hashes), SPAN)
            where = np.concatenate([np.empty(0, PLACE), *places[number]])
            records["high"], records["low"] = hashes[:, 0], hashes[:, 1]
            records["span"], records["row"] = np.arange(len(hashes)), where["row"]
            records = records[np.lexsort((records["span"], records["low"], records["high"]))]
            artifacts[f"{number}.spans"] = disk.write(folder / f"{number}.spans", records.tobytes())
            artifacts[f"{number}.places"] = disk.write(folder / f"{number}.places", where.tobytes())
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


def span_ranges(signed: list[StageReport], config: PrepareConfig) -> int:
    """How many key ranges keep each within the memory of a worker."""
    most = max((sum(counts) for counts in zip(*(report.details["spans"] for report in signed), strict=True)), default=0)
    return max(1, -(-most // _memory.spans(config.execution.memory)))


def find_spans(
    number: int, count: int, ranks: list[int], signed: list[StageReport], config: PrepareConfig
) -> StageReport:
    """Write, for each span kind and the key range ``number`` of ``count``, ``GONE`` records, sorted: ``<n>.gone``, the
    spans that stand earlier already, and ``<n>.owed``, the first of each key that another document has too."""
    whole = ledger.fingerprint("spans", {"signed": [report.fingerprint for report in signed], "ranks": ranks})
    determined = {"spans": whole, "range": [number, count]}

    def produce(folder: Path, key: str) -> StageReport:
        artifacts = {}
        for kind in range(len(kinds(config))):
            gone, owed = _repeats(kind, number, count, ranks, signed)
            artifacts[f"{kind}.gone"] = disk.write(folder / f"{kind}.gone", gone.tobytes())
            artifacts[f"{kind}.owed"] = disk.write(folder / f"{kind}.owed", owed.tobytes())
        return StageReport(
            stage="find_spans", shard=number, fingerprint=key, artifacts=artifacts, details={"spans": whole}
        )

    return ledger.run(config.execution.work, "find_spans", number, determined, produce)


def _repeats(
    kind: int, number: int, count: int, ranks: list[int], signed: list[StageReport]
) -> tuple[np.ndarray, np.ndarray]:
    low = np.uint64(number * 2**64 // count)
    high = np.uint64((number + 1) * 2**64 // count - 1)
    slices, owners = [np.empty(0, SPAN)], [np.empty(0, np.uint32)]
    for rank, report in zip(ranks, signed, strict=True):
        spans = np.asarray(mapped(report, f"{kind}.spans", SPAN))
        # numpy's own search would first copy the whole column, since it is not contiguous
        start, stop = bisect_left(spans["high"], low), bisect_right(spans["high"], high)
        slices.append(spans[start:stop])
        owners.append(np.full(stop - start, rank, np.uint32))
    every, owner = np.concatenate(slices), np.concatenate(owners)
    progress.advance(len(every), 0)
    order = np.lexsort((every["span"], owner, every["low"], every["high"]))
    every, owner = every[order], owner[order]
    again = np.zeros(len(every), bool)
    again[1:] = (every["high"][1:] == every["high"][:-1]) & (every["low"][1:] == every["low"][:-1])
    # Spans of a key ascend by document: where the last one is of the document of the first, all are.
    first = np.flatnonzero(~again)
    last = np.append(first[1:], len(every)) - 1 if len(first) else first
    owed = first[(owner[first] != owner[last]) | (every["row"][first] != every["row"][last])]
    return _gone(owner, every, np.flatnonzero(again)), _gone(owner, every, owed)


def _gone(owner: np.ndarray, every: np.ndarray, places: np.ndarray) -> np.ndarray:
    found = np.empty(len(places), GONE)
    found["rank"], found["span"] = owner[places], every["span"][places]
    return found[np.lexsort((found["span"], found["rank"]))]


def trim(
    place: int,
    cleaned: StageReport,
    decided: StageReport,
    rank: int,
    signed: StageReport,
    found: list[StageReport],
    config: PrepareConfig,
) -> StageReport:
    """Write ``documents.arrow``: the kept documents of a piece without the spans that stand earlier, ``characters`` as
    ``sign`` does, and ``parts.parquet`` (``DUPLICATES``), which names the documents that lost something.

    Documents of which too little is left are dropped as ``little_left``, unless another document lost a span because
    it stands in this one.
    """
    determined = {
        "clean": cleaned.fingerprint,
        "verdict": decided.fingerprint,
        "place": place,
        "shard": cleaned.shard,
        "spans": found[0].details["spans"],  # the same however many ranges they were found in
        "kinds": [kind.identity() for kind in kinds(config)],
    }

    def produce(folder: Path, key: str) -> StageReport:
        cuts = _chosen("gone", rank, signed, found, config)
        owed = np.unique(_chosen("owed", rank, signed, found, config)["row"])
        least = max(kind.min_left for kind in kinds(config))
        out = DocumentWriter(folder / "documents.arrow", config.execution.kept())
        schema, count, size, before, documents, touched, short = DOCUMENT_SCHEMA, 0, 0, 0, 0, 0, 0
        with (
            disk.Writer(folder / "characters") as lengths,
            disk.Writer(folder / "parts.parquet") as parts,
            pq.ParquetWriter(parts, DUPLICATES, compression="zstd", write_statistics=False) as named,
        ):
            for batch in kept(place, cleaned, decided):
                changed, stays, trimmed = _trimmed(batch.documents, batch.rows, cuts, owed, least)
                if len(changed):
                    named.write_table(_named(batch.documents, changed, stays[changed], cleaned.shard))
                trimmed = trimmed.filter(pa.array(stays))
                short += characters(batch.documents.column("text").filter(pa.array(~stays)))
                out.write(trimmed)
                schema = trimmed.schema
                texts = trimmed.column("text")
                lengths.write(pc.utf8_length(texts).to_numpy().astype("<i8").tobytes())
                documents, count = documents + len(batch.rows), count + len(texts)
                touched += len(changed)
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
            dropped={LITTLE_LEFT: documents - count} if documents > count else {},
            artifacts={"documents": out.close(schema), "characters": lengths.artifact, "parts": parts.artifact},
            details={"touched": touched, "little_left_characters": short},
        )

    return ledger.run(config.execution.work, "trim", cleaned.shard, determined, produce)


def _chosen(what: str, rank: int, signed: StageReport, found: list[StageReport], config: PrepareConfig) -> np.ndarray:
    """``PLACE`` records of all spans of the piece in the files named ``what``, by row and start."""
    parts = [np.empty(0, PLACE)]
    for kind in range(len(kinds(config))):
        places = mapped(signed, f"{kind}.places", PLACE)
        for report in found:
            records = np.asarray(mapped(report, f"{kind}.{what}", GONE))
            start, stop = bisect_left(records["rank"], rank), bisect_right(records["rank"], rank)
            parts.append(places[records["span"][start:stop]])
    spans = np.concatenate(parts)
    return spans[np.lexsort((spans["start"], spans["row"]))]


def _trimmed(
    documents: pa.RecordBatch, rows: np.ndarray, cuts: np.ndarray, owed: np.ndarray, least: int
) -> tuple[np.ndarray, np.ndarray, pa.RecordBatch]:
    """Places of the documents that lose something, which documents of all stay, and the batch without the cuts."""
    stays = np.ones(len(rows), bool)
    own = cuts[slice(*np.searchsorted(cuts["row"], [rows[0], rows[-1] + 1]))] if len(rows) else cuts[:0]
    changed, first = np.unique(own["row"], return_index=True)
    places = np.searchsorted(rows, changed)
    if not len(own):
        return places, stays, documents
    column = documents.column("text")
    texts = [
        _without(column[place].as_py().encode(), own[start:stop])
        for place, start, stop in zip(places.tolist(), first.tolist(), [*first[1:].tolist(), len(own)], strict=True)
    ]
    mask = np.zeros(len(rows), bool)
    mask[places] = True
    replaced = pc.replace_with_mask(column, pa.array(mask), strings(texts))
    enough = np.array([len(text) >= least for text in texts]) | np.isin(changed, owed)
    stays[places] = enough & np.array([not is_blank(text) for text in texts])
    field = documents.schema.field("text")
    return places, stays, documents.set_column(documents.schema.get_field_index("text"), field, replaced)


def _named(documents: pa.RecordBatch, places: np.ndarray, stays: np.ndarray, shard: int) -> pa.Table:
    """``DUPLICATES`` rows of documents that lost something."""
    columns = [
        documents.column("id").take(numbers(places)),
        strings([TRIMMED if stay else LITTLE_LEFT for stay in stays.tolist()]),
        strings([""] * len(places)),
        numbers(np.full(len(places), shard, np.uint32)),
    ]
    nothing = [pa.nulls(len(places), field.type) for field in DUPLICATES][len(columns) :]
    return pa.Table.from_arrays([*columns, *nothing], schema=DUPLICATES)


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
            artifacts={"verdicts": disk.write(folder / "verdicts", np.empty(0, VERDICT).tobytes())},
            details={
                "offsets": [0] * (len(trimmed) + 1),
                "documents": documents,
                "characters": [report.chars_out for report in trimmed],
            },
        )

    return ledger.run(config.execution.work, "settle", 0, determined, produce)
