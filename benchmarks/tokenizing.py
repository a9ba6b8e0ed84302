"""MB of text per CPU-second of the tokenize stage, beside the libraries' own loops; and whether all ids are the same.

    python benchmarks/tokenizing.py ../shared/corpus/large ../shared/fixtures/tokenizers/gpt2.json --ranks r50k.tiktoken
    python benchmarks/tokenizing.py ../shared/corpus/large TOKENIZER.json... --exact

The stage reads cleaned documents (Arrow) and writes token shards, with the comparison of 1 % of the documents and all
fsyncs. All figures of a tokenizer are of one run on one core: quote the ratios. Slow libraries get the first
documents only. ``--exact`` holds every document against Hugging Face ``tokenizers`` instead, minutes a tokenizer.
"""

import argparse
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gristmill.phases.dedup import Deduplicated, drop_duplicates
from gristmill.phases.ingest import ingest
from gristmill.processes.pool import ONE_THREAD
from gristmill.runners.in_process import IN_PROCESS

os.environ.update(ONE_THREAD)  # the libraries read it when they are imported

import numpy as np

from gristmill import config as configuration
from gristmill.config import PrepareConfig
from gristmill.stages.dedup._kept import kept
from gristmill.stages.ingest.plan import plan
from gristmill.stages.tokens.order import order
from gristmill.stages.tokens.tokenize import tokenize
from gristmill.stages.tokens.tokenizer import encoder, obtain
from gristmill.tokenizers.base import Encoder
from gristmill.tokenizers.tiktoken import Tiktoken

SLOW_BYTES = 12_000_000
"""Text for libraries of a few MB a CPU-second."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="folder of jsonl files")
    parser.add_argument("tokenizers", nargs="+", help="tokenizer.json files")
    parser.add_argument("--ranks", help="the .tiktoken file of gpt2: measures tiktoken too")
    parser.add_argument("--exact", action="store_true", help="compare every document with the reference")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gristmill-benchmark-") as folder:
        base = {
            "sources": [{"kind": "files", "paths": [options.corpus], "id_key": "id"}],
            "cleaning": [],
            "dedup": [],
            "split": {"kind": "none"},
            "formats": [{"kind": "nanogpt", "eot": "none"}],
            "execution": {"work": f"{folder}/work"},
        }
        read = configuration.parse(base)
        done = drop_duplicates(ingest(plan(read), read, IN_PROCESS), read, IN_PROCESS)
        for path in options.tokenizers:
            config = configuration.parse(base | {"tokenizer": {"kind": "huggingface", "path": path}})
            print(f"\n{Path(path).name}")
            (exact if options.exact else speed)(done, config, options.ranks)


def speed(done: Deduplicated, config: PrepareConfig, ranks: str | None) -> None:
    """The stage and the raw loops, in MB per CPU-second."""
    tokenizer = obtain(done.pieces, done.settled, config)
    arranged = order(done.measured, done.settled, config)
    loaded = encoder(tokenizer, config)
    batches = list(texts_of(done))
    few = batches[: next(n for n, _ in enumerate(batches) if size(batches[: n + 1]) > SLOW_BYTES)]
    began = time.process_time()
    reports = [
        tokenize(place, piece, done.settled, tokenizer, arranged, config) for place, piece in enumerate(done.pieces)
    ]
    seconds = time.process_time() - began
    stage = size(batches) / 1e6 / seconds
    compared = sum(report.details["compared"] for report in reports)
    rows = {
        f"tokenize stage ({compared:,} documents compared)": stage,
        f"{loaded.fast_path}, raw loop": measured(batches, loaded.encode),
        "tokenizers, raw loop": measured(few, loaded.encode_reference),
    }
    if ranks is not None:
        rows["tiktoken (gpt2), raw loop"] = measured(few, ranked(ranks).encode_reference)
    for name, speed in rows.items():
        print(f"  {name:46} {speed:7.1f} MB per CPU-second, {speed / stage:6.2f} of the stage")


def ranked(path: str) -> Encoder:
    """tiktoken's gpt2."""
    with tempfile.TemporaryDirectory() as folder:
        kind = Tiktoken(path=path, encoding="gpt2")
        kind.prepare([], Path(folder))
        return kind.load(Path(folder))


def measured(batches: list[list[str]], encode: Callable[[list[str]], Any]) -> float:
    """MB of text per CPU-second."""
    began = time.process_time()
    for texts in batches:
        encode(texts)
    seconds = time.process_time() - began
    return size(batches) / 1e6 / seconds


def texts_of(done: Deduplicated) -> Iterator[list[str]]:
    """The texts that the stage encodes, batch by batch."""
    for place, piece in enumerate(done.pieces):
        for batch in kept(place, piece, done.settled):
            yield batch.documents.column("text").to_pylist()


def size(batches: list[list[str]]) -> int:
    return sum(len(text.encode()) for texts in batches for text in texts)


def exact(done: Deduplicated, config: PrepareConfig, _: str | None) -> None:
    """Every document by both, and the sum of all ids."""
    loaded = encoder(obtain(done.pieces, done.settled, config), config)
    documents = tokens = different = 0
    ids = hashlib.sha256()
    for texts in texts_of(done):
        found, wanted = loaded.encode(texts), loaded.encode_reference(texts)
        documents, tokens = documents + len(texts), tokens + len(found.ids)
        ids.update(found.ids.astype("<u4").tobytes())
        for start, stop, first, last in zip(
            found.offsets[:-1], found.offsets[1:], wanted.offsets[:-1], wanted.offsets[1:], strict=True
        ):
            different += not np.array_equal(found.ids[start:stop], wanted.ids[first:last])
    print(f"  {loaded.fast_path} against tokenizers: {documents:,} documents, {tokens:,} ids, {different} different")
    print(f"  sha256 of the uint32 ids {ids.hexdigest()}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
