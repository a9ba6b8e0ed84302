"""Some documents of a corpus, to be looked at more closely than all of them can be."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from gristmill.columns import numbers
from gristmill.stages.ingest._arrow import mapped_batches
from gristmill.stages.tokens._choice import hashes
from gristmill.types import StageReport

PLACES = 64
EACH = 8
NEAR = 1024
"""At 64 places, evenly spaced over all documents, 8 of the next 1,024: at most 512 documents, from at most 64 pieces
or a few more, however large the corpus is. Every place stands for as many documents, so shares among the sampled are
those among all: within 5 percentage points, were the documents of a place independent of each other."""

SAMPLED = 0x73616D706C656421
"""Keys the hash that documents are chosen by: at even distances they might all be of one of two sources that take
turns."""


def sampled(cleaned: list[StageReport]) -> Iterator[str]:
    """The texts of some of the cleaned documents, in order; the same for the same reports. All where there are few."""
    wanted = _wanted(sum(report.docs_out for report in cleaned))
    first = 0
    for report in cleaned:
        here = wanted[(wanted >= first) & (wanted < first + report.docs_out)] - first
        yield from _rows(report, here)
        first += report.docs_out


def _wanted(documents: int) -> np.ndarray:
    """int64, sorted: which of so many documents are in the sample."""
    edges = [place * documents // PLACES for place in range(PLACES + 1)]
    found = [np.empty(0, np.int64)]
    for start, stop in pairwise(edges):
        near = np.arange(start, min(start + NEAR, stop))
        order = np.argsort(hashes(near.astype(np.uint64), SAMPLED))
        found.append(np.sort(near[order[:EACH]]))
    return np.concatenate(found)


def _rows(cleaned: StageReport, wanted: np.ndarray) -> Iterator[str]:
    """The texts in these rows of a piece; reads it no further than to the last."""
    if not wanted.size:
        return
    first = 0
    for batch in mapped_batches(cleaned.artifacts["documents"]):
        here = wanted[(wanted >= first) & (wanted < first + len(batch))] - first
        yield from batch.column("text").take(numbers(here)).to_pylist()
        first += len(batch)
        if first > wanted[-1]:
            return
