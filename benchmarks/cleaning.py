"""Megabytes of text per CPU-second of every rule and filter of a web cascade, over a folder of jsonl.gz files.

    python benchmarks/cleaning.py CORPUS [--kinds unicode,control,...] [--batch 1000]

Reading and parsing the files is not counted. Filters that follow each other share their analysis of the text, and the
first one of a run pays for it. Each row is measured on the text that reached it; the total is the text read over all
CPU time spent. MB are 10^6 bytes of UTF-8.
"""

import argparse
import gzip
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from _ours import WEB

from gristmill.cleaning.base import Cleaner, Filter, Rule
from gristmill.plugins import load
from gristmill.types import DOCUMENT_SCHEMA


class Line(msgspec.Struct):
    """The fields of a corpus line that are read."""

    id: str
    text: str


class Measured:
    """A cleaner with the CPU time, text and drops of all batches so far."""

    def __init__(self, kind: str) -> None:
        cleaner = load("cleaning", {"kind": kind})
        assert isinstance(cleaner, Cleaner)
        self.cleaner = cleaner
        self.seconds = 0.0
        self.nbytes = 0
        self.dropped: Counter[str] = Counter()

    def rewrite(self, documents: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with rewritten texts."""
        assert isinstance(self.cleaner, Rule)
        self.nbytes += size(documents)
        start = time.process_time()
        texts = self.cleaner.rewrite(documents["text"])
        self.seconds += time.process_time() - start
        return documents.set_column(1, DOCUMENT_SCHEMA.field("text"), texts)

    def reasons(self, documents: pa.RecordBatch) -> pa.StringArray:
        """The reasons for the batch."""
        assert isinstance(self.cleaner, Filter)
        self.nbytes += size(documents)
        start = time.process_time()
        reasons = self.cleaner.reasons(documents)
        self.seconds += time.process_time() - start
        return reasons


def size(documents: pa.RecordBatch) -> int:
    """Bytes of text."""
    return pc.sum(pc.binary_length(documents["text"])).as_py() or 0


def batches(folder: Path, documents: int) -> Iterator[pa.RecordBatch]:
    """The corpus in file order."""
    decoder = msgspec.json.Decoder(Line)
    for path in sorted(folder.glob("*.jsonl.gz")):
        lines = decoder.decode_lines(gzip.decompress(path.read_bytes()))
        for first in range(0, len(lines), documents):
            part = lines[first : first + documents]
            columns = {"id": [line.id for line in part], "text": [line.text for line in part]}
            yield pa.record_batch({**columns, "source": [folder.name] * len(part)}, schema=DOCUMENT_SCHEMA)


def run(cascade: list[Measured], documents: pa.RecordBatch) -> pa.RecordBatch:
    """The batch after all cleaners; their measures grow. Filters in a row judge the same batch."""
    for is_rule, steps in groupby(cascade, lambda step: isinstance(step.cleaner, Rule)):
        if is_rule:
            for step in steps:
                documents = step.rewrite(documents)
            continue
        kept = pa.array([True] * len(documents))
        for step in steps:
            reasons = step.reasons(documents)
            step.dropped.update(reasons.filter(kept).drop_null().to_pylist())
            kept = pc.and_(kept, pc.is_null(reasons))
        documents = documents.filter(kept)
    return documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--kinds", default=",".join(WEB), help="cleaners with their default settings, in order")
    parser.add_argument("--batch", type=int, default=1000, help="documents per batch")
    chosen = parser.parse_args()
    cascade = [Measured(kind) for kind in chosen.kinds.split(",")]
    nbytes = documents_in = documents_out = 0
    for batch in batches(chosen.corpus, chosen.batch):
        nbytes += size(batch)
        documents_in += len(batch)
        documents_out += len(run(cascade, batch))
    print(f"{'kind':20}{'MB':>9}{'CPU s':>9}{'MB per CPU s':>14}  dropped")
    for step in cascade:
        speed = step.nbytes / 1e6 / max(step.seconds, 1e-9)
        drops = ", ".join(f"{reason} {count}" for reason, count in step.dropped.most_common(4))
        print(f"{step.cleaner.kind():20}{step.nbytes / 1e6:9.1f}{step.seconds:9.2f}{speed:14.1f}  {drops}")
    seconds = sum(step.seconds for step in cascade)
    print(f"{'total':20}{nbytes / 1e6:9.1f}{seconds:9.2f}{nbytes / 1e6 / seconds:14.1f}", end="  ")
    print(f"{documents_in:,} documents in, {documents_out:,} out")


if __name__ == "__main__":
    main()
