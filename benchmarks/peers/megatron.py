"""The method of Megatron's preprocess_data_fast: gigatoken reads and encodes the files, awkward adds the end of text.

PEER/bin/python benchmarks/peers/megatron.py INPUT_FOLDER OUTPUT_FOLDER TOKENIZER_JSON WORKERS

On plain JSON Lines, as there. Its 128 processes that flatten chunks of documents are WORKERS here, which is faster on
few cores; its index is an array of lengths and one of document starts.
"""

import sys
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import awkward as ak
import gigatoken
import numpy as np
from tokenizers import Tokenizer

EOT = "<|endoftext|>"


def flatten(documents: ak.Array) -> tuple[np.ndarray, np.ndarray]:
    """Ids and lengths of a chunk of documents."""
    return np.asarray(ak.flatten(documents), dtype=np.uint16), np.asarray(ak.num(documents, axis=1))


def main(source: str, output: str, tokenizer: str, workers: int) -> None:
    files = sorted(map(str, Path(source).glob("*.jsonl")))
    encoded = gigatoken.Tokenizer(tokenizer).encode_files(gigatoken.JsonlFileSource(files, field="text"))
    eot = Tokenizer.from_file(tokenizer).token_to_id(EOT)
    ends = ak.singletons(ak.Array(np.full(len(encoded), eot, dtype=np.uint32)))
    documents = ak.concatenate([encoded, ends], axis=1)
    edges = np.linspace(0, len(documents), workers + 1, dtype=int).tolist()
    chunks = [documents[start:stop] for start, stop in pairwise(edges)]
    lengths = []
    with get_context("fork").Pool(workers) as processes, (Path(output) / "text_document.bin").open("wb") as ids:
        for flat, counts in processes.map(flatten, chunks):
            ids.write(flat.tobytes())
            lengths.append(counts)
    sizes = np.concatenate(lengths).astype(np.int32)
    with (Path(output) / "text_document.idx").open("wb") as index:
        index.write(sizes.tobytes())
        index.write(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).tobytes())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
