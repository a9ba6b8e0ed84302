"""Megabytes of text per CPU-second of shingles and MinHash signatures, and of datasketch on the same shingles.

    python benchmarks/dedup_speed.py CORPUS [--slow-megabytes 4]

Reading and parsing the files is not counted. MB are 10^6 bytes of UTF-8; datasketch and the scheme of its name run on
the first documents only. The last figures are the most memory that arrays take while a batch is signed.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from dedup_quality import batch, batches, reference_sketches

from gristmill.dedup._shingles import shingles
from gristmill.dedup.minhash import MinHash


def megabytes(documents: pa.RecordBatch) -> float:
    return (pc.sum(pc.binary_length(documents.column("text"))).as_py() or 0) / 1e6


def measure(name: str, work: Callable[[pa.RecordBatch], object], corpus: list[pa.RecordBatch]) -> None:
    """Run over the batches and print the row."""
    start = time.process_time()
    for documents in corpus:
        work(documents)
    seconds, size = time.process_time() - start, sum(map(megabytes, corpus))
    print(f"{name:44}{size:9.1f}{seconds:9.2f}{size / seconds:14.1f}", flush=True)


def peak(kind: MinHash, documents: pa.RecordBatch) -> float:
    """The most megabytes of arrays at once while the batch is signed."""
    tracemalloc.start()
    kind.sign(documents)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--slow-megabytes", type=float, default=4.0)
    chosen = parser.parse_args()
    corpus = list(batches(chosen.corpus))
    few = 1 + int(np.searchsorted(list(accumulate(map(megabytes, corpus))), chosen.slow_megabytes))
    fast, nemo = MinHash(), MinHash(preset="nemo")
    slow = MinHash(scheme="datasketch")
    print(f"{'':44}{'MB':>9}{'CPU s':>9}{'MB per CPU s':>14}")
    measure("signatures, fast (shingles included)", fast.sign, corpus)
    measure("signatures, fast, preset nemo", nemo.sign, corpus)
    measure("signatures, scheme datasketch", slow.sign, corpus[:few])
    measure("datasketch update_batch on our shingles", lambda part: reference_sketches(slow, texts(part)), corpus[:few])
    measure("shingles as one array", lambda part: shingles(part.column("text")), corpus)
    check = np.concatenate([fast.sign(part).check for part in corpus[:few]])
    draw = np.random.default_rng(0)
    first, second = (check[draw.integers(0, len(check), 1_000_000)] for _ in range(2))
    start = time.process_time()
    fast.confirmed(first, second)
    print(f"\nconfirmed: {len(first) / (time.process_time() - start) / 1e6:.1f} million pairs per CPU-second")
    largest = max(corpus, key=megabytes)
    one = batch([" ".join(text for part in corpus[:20] for text in texts(part))], ["one"])
    for documents in (largest, one):
        size, count = megabytes(documents), len(documents)
        print(f"signing a batch of {size:.1f} MB in {count} documents takes {peak(fast, documents):.1f} MB of arrays")


def texts(documents: pa.RecordBatch) -> list[str]:
    found: list[str] = documents.column("text").to_pylist()
    return found


if __name__ == "__main__":
    main()
