"""Rewrite and filter the documents of one shard; count every character and every drop."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gristmill import ledger, progress
from gristmill.cleaning.base import Cleaner, Filter, Rule
from gristmill.config import PrepareConfig
from gristmill.stages._arrow import DocumentWriter, batches, characters
from gristmill.types import DOCUMENT_SCHEMA, ShardRef, StageReport

NOT_BLANK = r"[^\s\p{Z}\p{Cc}]"
"""RE2: any character that is neither white space nor a control character, in all of Unicode."""


def inputs(shard: ShardRef, fetched: str, config: PrepareConfig) -> dict[str, Any]:
    """The fetched documents and the rules in force for their source."""
    return {"fetch": fetched, "rules": [cleaner.identity() for cleaner in config.rules(shard.source)]}


def clean(shard: ShardRef, fetched: StageReport, config: PrepareConfig) -> StageReport:
    """Write ``documents.arrow`` with the kept documents in order. Blank documents are dropped after the rules."""

    def produce(folder: Path, key: str) -> StageReport:
        steps = [_Step(cleaner) for cleaner in config.rules(shard.source)]
        blank = _Step(_Blank())
        out = DocumentWriter(folder / "documents.arrow")
        schema = DOCUMENT_SCHEMA
        for batch in batches(fetched.artifacts["documents"].uri):
            nbytes = batch.column("text").nbytes
            documents = batch
            for step in [*steps, blank]:
                documents = step.apply(documents)
            out.write(documents)
            schema = documents.schema
            progress.advance(len(batch), nbytes)
        return _report(shard, fetched, key, [*steps, blank], {"documents": out.close(schema)})

    return ledger.run(
        config.execution.work, "clean", shard.index, inputs(shard, fetched.fingerprint, config), produce
    )


class _Blank(Filter):
    """Nothing but white space is left: such a document would be a lone end-of-text token."""

    def reasons(self, documents: pa.RecordBatch) -> pa.StringArray:
        full = pc.match_substring_regex(documents.column("text"), NOT_BLANK)
        return pc.if_else(full, pa.scalar(None, pa.string()), pa.scalar("blank"))


class _Step:
    """One cleaner and what it did."""

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner
        self.documents_in = self.documents_out = self.characters_in = self.characters_out = 0
        self.dropped: dict[str, int] = {}

    def apply(self, documents: pa.RecordBatch) -> pa.RecordBatch:
        texts = documents.column("text")
        self.documents_in += len(texts)
        self.characters_in += characters(texts)
        if isinstance(self._cleaner, Rule):
            place = documents.schema.get_field_index("text")
            documents = documents.set_column(place, DOCUMENT_SCHEMA.field("text"), self._cleaner.rewrite(texts))
        elif isinstance(self._cleaner, Filter):
            documents = self._filtered(documents, self._cleaner)
        texts = documents.column("text")
        self.documents_out += len(texts)
        self.characters_out += characters(texts)
        return documents

    def _filtered(self, documents: pa.RecordBatch, cleaner: Filter) -> pa.RecordBatch:
        reasons = cleaner.reasons(documents)
        if reasons.null_count == len(reasons):
            return documents
        for entry in pc.value_counts(reasons.drop_null()).to_pylist():
            self.dropped[entry["values"]] = self.dropped.get(entry["values"], 0) + entry["counts"]
        return documents.filter(pc.is_null(reasons))

    def row(self) -> dict[str, Any]:
        """One line of the ledger of rules."""
        return {
            "rule": "blank" if isinstance(self._cleaner, _Blank) else self._cleaner.kind(),
            "documents_in": self.documents_in,
            "documents_out": self.documents_out,
            "characters_in": self.characters_in,
            "characters_out": self.characters_out,
            "dropped": self.dropped,
        }


def _report(
    shard: ShardRef, fetched: StageReport, key: str, steps: list[_Step], artifacts: dict[str, Any]
) -> StageReport:
    dropped: dict[str, int] = {}
    for step in steps:
        for reason, count in step.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    return StageReport(
        stage="clean",
        shard=shard.index,
        fingerprint=key,
        docs_in=fetched.docs_out,
        docs_out=steps[-1].documents_out,
        chars_in=fetched.chars_out,
        chars_out=steps[-1].characters_out,
        dropped=dict(sorted(dropped.items())),
        artifacts=artifacts,
        details={"rules": [step.row() for step in steps]},
    )
