"""The kept documents of a cleaned shard: what is left after the verdict."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.stages.dedup.decide import verdict
from gristmill.stages.ingest._arrow import batches
from gristmill.types import StageReport, Value


class Kept(Value, frozen=True, kw_only=True):
    """Kept documents of one batch, with their rows in the cleaned shard (uint32)."""

    documents: pa.RecordBatch
    rows: np.ndarray


def kept(place: int, cleaned: StageReport, decided: StageReport, alone: int | None = None) -> Iterator[Kept]:
    """Batches of the kept documents of the piece number ``place``, in order; a document of more than ``alone`` bytes
    is a batch of its own."""
    for batch in _kept(place, cleaned, decided):
        if alone is None or batch.documents.column("text").nbytes <= alone:
            yield batch
        else:
            yield from _apart(batch, alone)


def _apart(batch: Kept, alone: int) -> Iterator[Kept]:
    """``batch`` in parts, each long document by itself."""
    long = np.flatnonzero(np.asarray(pc.binary_length(batch.documents.column("text"))) > alone)
    edges = np.unique([0, *long, *(long + 1), len(batch.rows)])
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield Kept(documents=batch.documents.slice(start, stop - start), rows=batch.rows[start:stop])


def _kept(place: int, cleaned: StageReport, decided: StageReport) -> Iterator[Kept]:
    gone = np.asarray(verdict(place, decided)["row"])
    first = 0
    for batch in batches(cleaned.artifacts["documents"]):
        rows = np.arange(first, first + len(batch), dtype=np.uint32)
        first += len(batch)
        start, stop = np.searchsorted(gone, [first - len(batch), first])
        if start == stop:
            yield Kept(documents=batch, rows=rows)
            continue
        stays = np.ones(len(batch), bool)
        stays[gone[start:stop] - rows[0]] = False
        yield Kept(documents=batch.filter(pa.array(stays)), rows=rows[stays])
