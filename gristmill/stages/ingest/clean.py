"""Rewrite and filter the documents of one shard; count every character and every drop."""

from collections import Counter
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill import ledger
from gristmill.cleaning.base import Cleaner, Filter, Rule, Verdict, verdicts
from gristmill.config import PrepareConfig
from gristmill.processes import progress
from gristmill.reporting.histograms import Histogram, histogram
from gristmill.stages.ingest._arrow import DocumentWriter, batches, characters
from gristmill.stages.ingest.fetch import piece_name
from gristmill.text.whitespace import VISIBLE
from gristmill.types import DOCUMENT_SCHEMA, Artifact, ShardRef, StageReport

VERSION = 3
"""Raised when the same rules give other documents, or a report with other parts."""

SAMPLES = 5
EXCERPT_CHARACTERS = 200
"""Dropped documents shown per reason, and how much of each."""


def inputs(shard: ShardRef, fetched: str, piece: int, config: PrepareConfig) -> dict[str, Any]:
    """The fetched documents and the rules in force for their source."""
    rules = [cleaner.identity() for cleaner in config.rules(shard.source)]
    return {"fetch": fetched, "piece": piece, "rules": rules, "version": VERSION}


def clean(shard: ShardRef, fetched: StageReport, piece: int, config: PrepareConfig) -> StageReport:
    """The kept documents of one piece in order; blank ones are dropped at the end. They are written to
    ``documents.arrow`` from the first change on: where there is none, they are the file that was fetched.

    ``fetched`` reports the whole fetch or, while that goes on, the piece.
    """

    def produce(folder: Path, key: str) -> StageReport:
        cascade = _Cascade([*config.rules(shard.source), _Blank()])
        given = fetched.artifacts[piece_name(piece)]
        out: DocumentWriter | None = None
        schema = DOCUMENT_SCHEMA
        for number, batch in enumerate(batches(given)):
            documents = cascade.apply(batch)
            schema = documents.schema
            if documents is not batch and out is None:
                out = DocumentWriter(folder / "documents.arrow", config.execution.kept())
                for unchanged in islice(batches(given), number):
                    out.write(unchanged)
            if out is not None:
                out.write(documents)
            progress.advance(len(batch), batch.column("text").nbytes)
        artifact = given if out is None else out.close(schema)
        return _report(shard, piece, key, cascade.rows, {"documents": artifact})

    return ledger.run(
        config.execution.work, "clean", shard.index, inputs(shard, fetched.fingerprint, piece, config), produce
    )


def cleaned(documents: pa.RecordBatch, rules: list[Cleaner]) -> tuple[pa.RecordBatch, bool]:
    """What the rules leave of some documents, and whether they change anything."""
    kept = _Cascade([*rules, _Blank()]).apply(documents)
    return kept, kept is not documents


class _Blank(Filter):
    """Nothing that can be seen is left, see ``whitespace``: a document without a word."""

    def reasons(self, documents: pa.RecordBatch) -> pa.StringArray:
        full = pc.match_substring_regex(documents.column("text"), VISIBLE)
        return pc.if_else(full, pa.scalar(None, pa.string()), pa.scalar("blank"))


class _Row:
    """What one cleaner did so far: a line of the ledger of rules."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.documents_in = self.documents_out = self.characters_in = self.characters_out = 0
        self.dropped: Counter[str] = Counter()
        self.dropped_characters: Counter[str] = Counter()
        self.samples: dict[str, list[dict[str, str]]] = {}
        self.measured: dict[str, Histogram] = {}

    def measure(self, verdict: Verdict, lengths: np.ndarray) -> None:
        """Count what a filter measured of the documents that it would keep at another threshold: those that reach it
        and fail no other."""
        failed = {reason: figure.failed for reason, figure in verdict.measured.items()}
        fails = sum(failed.values(), np.zeros(len(lengths), np.int64))
        for reason, figure in verdict.measured.items():
            if figure.values.dtype != np.bool_:
                alone = verdict.reached & (fails == failed[reason])
                found = histogram(reason, figure.values[alone], lengths[alone], least=figure.least, most=figure.most)
                self.measured[reason] = found + self.measured[reason] if reason in self.measured else found

    def reject(self, documents: pa.RecordBatch, reasons: pa.StringArray, lengths: np.ndarray) -> None:
        """Count what a filter drops from a batch, and keep the first few of each reason to be looked at."""
        for reason in pc.unique(reasons.drop_null()).to_pylist():
            rows = np.flatnonzero(pc.equal(reasons, reason).fill_null(False))
            self.dropped[reason] += len(rows)
            self.dropped_characters[reason] += int(lengths[rows].sum())
            samples = self.samples.setdefault(reason, [])
            for row in rows[: SAMPLES - len(samples)].tolist():
                text = documents.column("text")[row].as_py()[:EXCERPT_CHARACTERS]
                samples.append({"id": documents.column("id")[row].as_py(), "excerpt": text})

    def add(self, before: tuple[int, int], after: tuple[int, int]) -> None:
        """Documents and characters before and after a batch."""
        self.documents_in += before[0]
        self.characters_in += before[1]
        self.documents_out += after[0]
        self.characters_out += after[1]

    def settings(self) -> dict[str, Any]:
        return {
            "rule": self.name,
            "documents_in": self.documents_in,
            "documents_out": self.documents_out,
            "characters_in": self.characters_in,
            "characters_out": self.characters_out,
            "dropped": dict(sorted(self.dropped.items())),
            "dropped_characters": self.dropped_characters,
            "samples": self.samples,
            "measured": [msgspec.to_builtins(found) for found in self.measured.values()],
        }


class _Cascade:
    """The cleaners in order. Filters that follow each other see the same batch, so that they share its tables."""

    def __init__(self, cleaners: list[Cleaner]) -> None:
        self.rows = [_Row("blank" if isinstance(cleaner, _Blank) else cleaner.kind()) for cleaner in cleaners]
        pairs = zip(cleaners, self.rows, strict=True)
        self._groups = [list(group) for _, group in groupby(pairs, lambda pair: isinstance(pair[0], Filter))]

    def apply(self, documents: pa.RecordBatch) -> pa.RecordBatch:
        """The kept documents, rewritten."""
        size = (len(documents), characters(documents.column("text")))
        for group in self._groups:
            if isinstance(group[0][0], Filter):
                documents, size = _filtered(documents, size, group)
                continue
            for cleaner, row in group:
                assert isinstance(cleaner, Rule)
                place = documents.schema.get_field_index("text")
                texts = cleaner.rewrite(documents.column("text"))
                documents = documents.set_column(place, DOCUMENT_SCHEMA.field("text"), texts)
                before, size = size, (len(documents), characters(texts))
                row.add(before, size)
        return documents


def _filtered(
    documents: pa.RecordBatch, size: tuple[int, int], group: list[tuple[Any, _Row]]
) -> tuple[pa.RecordBatch, tuple[int, int]]:
    lengths = pc.utf8_length(documents.column("text")).to_numpy(zero_copy_only=False)
    kept = np.ones(len(documents), bool)
    for (_, row), verdict in zip(group, verdicts([cleaner for cleaner, _ in group], documents), strict=True):
        row.measure(verdict, lengths)
        if verdict.reasons.null_count < len(verdict.reasons):
            kept &= pc.is_null(verdict.reasons).to_numpy(zero_copy_only=False)
            row.reject(documents, verdict.reasons, lengths)
        before, size = size, (int(kept.sum()), int(lengths[kept].sum()))
        row.add(before, size)
    return (documents if kept.all() else documents.filter(pa.array(kept))), size


def _report(shard: ShardRef, piece: int, key: str, rows: list[_Row], artifacts: dict[str, Artifact]) -> StageReport:
    dropped = sum((row.dropped for row in rows), Counter())
    return StageReport(
        stage="clean",
        shard=shard.index,
        fingerprint=key,
        piece=piece,
        docs_in=rows[0].documents_in,
        docs_out=rows[-1].documents_out,
        chars_in=rows[0].characters_in,
        chars_out=rows[-1].characters_out,
        dropped=dict(sorted(dropped.items())),
        artifacts=artifacts,
        details={"rules": [row.settings() for row in rows]},
    )
