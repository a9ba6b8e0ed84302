"""Token counts are known: decide how often every document is published, so that each source has its share of tokens."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from pyarrow import ipc, memory_map

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.config.mixture import capacities, targets
from gristmill.formats.base import Format
from gristmill.processes import progress
from gristmill.stages.dedup.records import mapped
from gristmill.stages.tokens._choice import Choice, Cut, choose, stride
from gristmill.storage import stores
from gristmill.types import StageReport

NOT_MIXED = "not_mixed"
"""Reason of a document that a mixture leaves out."""

REPEATED = ("repeated_documents", "repeated_tokens")
"""Publications of documents beyond the first of each."""

TOLD = ("documents", "tokens", *REPEATED, "train_documents", "train_characters", "train_tokens")
"""What the manifest says of a source that is mixed, beside its target."""

Counts = dict[int, list[int]]
"""By bucket: documents and ids, end-of-text not counted."""


def mix(
    generation: int,
    tokenized: list[StageReport],
    texts: list[StageReport],
    measured: list[StageReport],
    arranged: StageReport,
    config: PrepareConfig,
) -> StageReport:
    """``details``: per source its ``choice`` and what is published of it; per piece what is; ``counts``: per bucket
    the documents and ids that come to stand in it, for ``tokens`` and for ``text``.

    Raises ``InputError`` when the arrivals of this generation cannot give what the configuration asks for.
    """
    determined = {
        "tokenized": [report.fingerprint for report in tokenized],
        "texts": [report.fingerprint for report in texts],
        "order": arranged.fingerprint,
        "ordering": config.ordering.identity(),
        "mixture": config.mixture(),
        "first": generation == 1,
    }

    def produce(_: Path, key: str) -> StageReport:
        buckets = arranged.details["buckets"]
        labels = [next(iter(report.details["sources"]), "") for report in tokenized]  # a piece is of one source
        supply = _supply(tokenized, labels, buckets)
        most = capacities(supply, config.max_repetition)
        wanted = targets(config.mix, config.total_tokens, most, generation)
        choices = {
            label: choose(partial(_documents, label, labels, tokenized, buckets), supply[label], wanted[label], limit)
            for label, limit in most.items()
        }
        chosen = [choices.get(label, Choice(whole=0)) for label in labels]
        parts = [
            _Part(place, tokenized[place], measured[place], choice, buckets) for place, choice in enumerate(chosen)
        ]
        spelled = [_Part(place, report, None, chosen[place], buckets) for place, report in enumerate(texts)]
        pieces = [part.counted() for part in parts]
        return StageReport(
            stage="mix",
            shard=0,
            fingerprint=key,
            docs_in=sum(report.docs_out for report in tokenized),
            docs_out=sum(piece["documents"] for piece in pieces),
            tokens=sum(piece["tokens"] + piece["repeated_tokens"] for piece in pieces),
            dropped={NOT_MIXED: sum(piece[NOT_MIXED] for piece in pieces)},
            details={
                "buckets": buckets,
                "last_key": config.ordering.key_space(arranged.details["documents"]) - 1,
                "labels": labels,
                "sources": {
                    label: _source(label, choice, wanted[label], labels, pieces) for label, choice in choices.items()
                },
                "pieces": pieces,
                "counts": {"tokens": _placed(parts), "text": _placed(spelled)},
            },
        )

    return ledger.run(config.execution.work, "mix", 0, determined, produce)


def counts_of(format: Format, reports: list[StageReport], mixed: StageReport | None) -> Counts:
    """What comes to stand in every bucket, of ids or of text. ``reports``: those that the format is made of."""
    if mixed is not None:
        return {int(bucket): row for bucket, row in mixed.details["counts"][format.made_of("tokens", "text")].items()}
    found: Counts = {}
    for report in reports:
        for bucket, (count, size) in report.details["buckets"].items():
            _add(found, int(bucket), count, size)
    return found


def published_pieces(tokenized: list[StageReport], mixed: StageReport | None) -> list[dict[str, int]]:
    """What is published of each piece: ``documents``, ``characters`` and ``tokens``, each document once; where
    something is mixed, also what is repeated and left out."""
    if mixed is not None:
        pieces: list[dict[str, int]] = mixed.details["pieces"]
        return pieces
    return [
        {"documents": report.docs_out, "characters": report.chars_out, "tokens": report.tokens} for report in tokenized
    ]


def _add(counts: Counts, bucket: int, documents: int, ids: int) -> None:
    row = counts.setdefault(bucket, [0, 0])
    row[0] += documents
    row[1] += ids


def _supply(tokenized: list[StageReport], labels: list[str], buckets: int) -> dict[str, int]:
    """Tokens of each source to train on."""
    found: Counter[str] = Counter()
    for label, report in zip(labels, tokenized, strict=True):
        found[label] += sum(size for bucket, (_, size) in report.details["buckets"].items() if int(bucket) >= buckets)
    return {label: found[label] for label in sorted(found) if label}


def _train(report: StageReport, buckets: int) -> Iterator[pa.RecordBatch]:
    """The index of the documents to train on."""
    with memory_map(str(stores.here(report.artifacts["index"]))) as file:
        reader = ipc.open_file(file)
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            yield batch.slice(int(np.searchsorted(batch.column("bucket").to_numpy(), buckets)))


def _documents(
    label: str, labels: list[str], tokenized: list[StageReport], buckets: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    for place in (place for place, found in enumerate(labels) if found == label):
        for batch in _train(tokenized[place], buckets):
            key, row, length = (batch.column(name).to_numpy() for name in ("key", "row", "length"))
            yield place, key, row, length


class _Part:
    """What is published of a piece."""

    def __init__(
        self, place: int, report: StageReport, measured: StageReport | None, choice: Choice, buckets: int
    ) -> None:
        self._choice = choice
        self._buckets = buckets
        self._report = report
        self._all = {int(bucket): row for bucket, row in report.details["buckets"].items()}
        self._characters = np.zeros(2, np.int64)
        """Of the documents to train on: of all, and of those before the cut."""
        self._cut: Counts = {}
        if measured is None and choice.cut == Cut():
            return
        lengths = None if measured is None else mapped(measured, "characters", np.dtype("<i8"))
        for batch in _train(report, buckets):
            bucket, key, row, ids = (batch.column(name).to_numpy() for name in ("bucket", "key", "row", "length"))
            chosen = choice.cut.chosen(key, place, row)
            if lengths is not None:
                progress.advance(len(batch), batch.nbytes)
                self._characters += [int(lengths[row].sum()), int(lengths[row[chosen]].sum())]
            for number, start in zip(*np.unique(bucket, return_index=True), strict=True):
                here = slice(start, start + int(np.searchsorted(bucket[start:], number, "right")))
                _add(self._cut, int(number), int(chosen[here].sum()), int(ids[here][chosen[here]].sum(dtype=np.int64)))

    def placed(self) -> Iterator[tuple[int, list[int]]]:
        """Buckets, and what comes to stand in them."""
        for bucket, row in self._all.items():
            if bucket < self._buckets:
                yield bucket, row
                continue
            for number in range(self._choice.copies):
                to = (bucket - self._buckets + number * stride(self._buckets)) % self._buckets
                counts = row if number < self._choice.whole else self._cut.get(bucket, [0, 0])
                yield self._buckets + to, counts

    def counted(self) -> dict[str, int]:
        """Documents, characters and tokens that are published once or more; those of them to train on, each as often
        as it is published; what is repeated, and the documents that are left out."""
        everything = np.array([self._report.docs_out, self._report.chars_out, self._report.tokens])
        train = [sum(row[part] for bucket, row in self._all.items() if bucket >= self._buckets) for part in (0, 1)]
        cut = [sum(row[part] for row in self._cut.values()) for part in (0, 1)]
        whole = np.array([train[0], self._characters[0], train[1]])
        more = np.array([cut[0], self._characters[1], cut[1]])
        once = whole if self._choice.whole else more
        often = whole * self._choice.whole + more
        names = ("documents", "characters", "tokens")
        tables = {"": everything - whole + once, "train_": often, "repeated_": often - once}
        found = {
            f"{prefix}{name}": int(value)
            for prefix, values in tables.items()
            for name, value in zip(names, values, strict=True)
        }
        return found | {NOT_MIXED: int((whole - once)[0])}


def _placed(parts: list[_Part]) -> Counts:
    found: Counts = {}
    for part in parts:
        for bucket, (documents, ids) in part.placed():
            if documents:
                _add(found, bucket, documents, ids)
    return dict(sorted(found.items()))


def _source(label: str, choice: Choice, wanted: int, labels: list[str], pieces: list[dict[str, int]]) -> dict[str, Any]:
    sums: Counter[str] = Counter()
    for found, piece in zip(labels, pieces, strict=True):
        if found == label:
            sums.update(piece)
    deviation = sums["train_tokens"] - wanted
    counts = {name: sums[name] for name in TOLD} | {"target_tokens": wanted, "deviation_tokens": deviation}
    return {"choice": msgspec.to_builtins(choice), "counts": counts}
