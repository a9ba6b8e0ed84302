"""OLMo's method: a process a file, gzip and msgspec a line, tokenizers a document, ids through a memmap.

PEER/bin/python benchmarks/peers/olmo.py INPUT_FOLDER OUTPUT_FOLDER TOKENIZER_JSON WORKERS

The method of its scripts/prepare_memmap_dataset.py. That script also strips white space around each text; here it
stays, so that the counts can be compared.
"""

import gzip
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
from tokenizers import Tokenizer

EOT = "<|endoftext|>"
MOST = 512 * 1024 * 1024
"""Ids in a file: the room is made in advance and cut afterwards."""


class Document(msgspec.Struct):
    """What is read of a line."""

    text: str


def fill(path: Path, output: str, tokenizer: str) -> None:
    """The ids of one file."""
    encoder = Tokenizer.from_file(tokenizer)
    eot = encoder.token_to_id(EOT)
    decoder = msgspec.json.Decoder(Document)
    target = Path(output) / f"{path.name}.npy"
    ids = np.memmap(target, dtype=np.uint16, mode="w+", shape=(MOST,))
    place = 0
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            (encoded,) = encoder.encode_batch([decoder.decode(line).text], add_special_tokens=False)
            found = np.array([*encoded.ids, eot], np.uint16)
            ids[place : place + len(found)] = found
            place += len(found)
            if number % 10_000 == 0:
                ids.flush()
    ids.flush()
    os.truncate(target, place * ids.itemsize)


def main(source: str, output: str, tokenizer: str, workers: int) -> None:
    files = sorted(Path(source).glob("*.jsonl.gz"))
    with ProcessPoolExecutor(workers) as processes:
        list(processes.map(partial(fill, output=output, tokenizer=tokenizer), files))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
