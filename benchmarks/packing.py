"""Ids per second that the kinds of packing arrange into rows and gather, and the plain rule of best_fit beside them.

    python benchmarks/packing.py [--length 2048] [--million 20] [--mean 700]

One core. Documents have lengths like those of web text: log-normal, a mean of 700 ids, a tail of very long ones. The
plain rule scans its buffer for every document, as nanochat's loader does; it gets a part of the documents, and its rows
must be ours.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from plain_packing import best_fit_rows

from gristmill.packing.base import RowPacking, Segments
from gristmill.packing.best_fit import BestFit
from gristmill.packing.best_fit_decreasing import BestFitDecreasing
from gristmill.packing.no_truncation import NoTruncation

PLAIN_SHARE = 20


def documents(ids: int, mean: int) -> np.ndarray:
    """int64 lengths, start-of-text included, of about ``ids`` ids in all."""
    draws = np.random.default_rng(1).lognormal(np.log(mean) - 0.6, 1.1, max(1, ids // mean))
    return 2 + draws.astype(np.int64)


def gathered(stream: np.ndarray, lengths: np.ndarray, segments: Segments) -> list[memoryview]:
    """The rows' bytes, as the pipeline joins them."""
    data = stream.data.cast("B")
    begins = ((np.cumsum(lengths) - lengths)[segments.document] + segments.skipped) * 2
    return [data[low:high] for low, high in zip(begins.tolist(), (begins + 2 * segments.taken).tolist(), strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--million", type=int, default=20)
    parser.add_argument("--mean", type=int, default=700)
    chosen = parser.parse_args()
    lengths = documents(chosen.million * 10**6, chosen.mean)
    stream = np.arange(lengths.sum(), dtype=np.uint32).astype("<u2")
    print(f"{len(lengths):,} documents, {len(stream):,} ids, rows of {chosen.length + 1}")
    print(f"{'':24}{'CPU s':>8}{'M ids/s':>9}{'cropped':>9}{'padding':>9}{'whole':>8}")
    kinds: list[RowPacking] = [kind(length=chosen.length) for kind in (BestFit, NoTruncation, BestFitDecreasing)]
    for kind in kinds:
        start = time.process_time()
        segments = kind.arrange(lengths)
        rows = b"".join(gathered(stream, lengths, segments))
        seconds = time.process_time() - start
        account = segments.account(lengths, kind.capacity)
        assert len(rows) == 2 * account["placed"]
        shares = (account["cropped"] / account["ids"], account["padding"] / max(1, account["rows"] * kind.capacity))
        shown = "".join(f"{share:9.1%}" for share in shares) + f"{account['whole'] / len(lengths):8.1%}"
        print(f"{kind.kind():24}{seconds:8.2f}{len(stream) / seconds / 1e6:9.1f}{shown}", flush=True)
    plain(lengths[: len(lengths) // PLAIN_SHARE], stream, chosen.length)


def plain(lengths: np.ndarray, stream: np.ndarray, length: int) -> None:
    edges = np.cumsum(lengths)
    texts = [stream[low:high].tolist() for low, high in zip((edges - lengths).tolist(), edges.tolist(), strict=True)]
    start = time.process_time()
    rows = best_fit_rows(texts, length + 1, buffer=1000, refill=128)
    seconds = time.process_time() - start
    print(f"{'best_fit, plain':24}{seconds:8.2f}{edges[-1] / seconds / 1e6:9.1f}")
    ours = b"".join(gathered(stream, lengths, BestFit(length=length).arrange(lengths)))
    assert ours == np.array(rows, "<u2").tobytes(), "the rows differ"
    print(f"the {len(rows):,} rows of the plain rule are ours")


if __name__ == "__main__":
    main()
