"""nanoGPT's recipe: datasets loads, splits and maps, tiktoken encodes a document at a time, ids go through a memmap.

PEER/bin/python benchmarks/peers/nanogpt.py INPUT_FOLDER OUTPUT_FOLDER TOKENIZER_JSON WORKERS

The method of its data/openwebtext/prepare.py with its split, seed and 1,024 batches; a file of ids for each split.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tiktoken
from datasets import Dataset, load_dataset

EOT = "<|endoftext|>"
BATCHES = 1024
PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


def encoding(path: str) -> tiktoken.Encoding:
    """GPT-2's tokenizer.json as tiktoken has it: an id is the rank of its bytes."""
    document = json.loads(Path(path).read_bytes())
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    spelled = {chr(byte): byte for byte in printable} | {chr(0x100 + place): byte for place, byte in enumerate(others)}
    specials = {token["content"]: token["id"] for token in document["added_tokens"]}
    ranks = {
        bytes(spelled[mark] for mark in token): number
        for token, number in document["model"]["vocab"].items()
        if token not in specials
    }
    return tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=specials)


def write(split: Dataset, path: Path) -> None:
    """All ids of a split into one file."""
    ids = np.memmap(path, dtype=np.uint16, mode="w+", shape=(int(np.sum(split["length"], dtype=np.uint64)),))
    batches = min(BATCHES, len(split))
    place = 0
    for index in range(batches):
        batch = split.shard(num_shards=batches, index=index, contiguous=True).with_format("numpy")
        found = np.concatenate(batch["ids"])
        ids[place : place + len(found)] = found
        place += len(found)
    ids.flush()


def main(source: str, output: str, tokenizer: str, workers: int) -> None:
    encoder = encoding(tokenizer)
    eot = encoder._special_tokens[EOT]

    def encode(row: dict[str, Any]) -> dict[str, Any]:
        ids = encoder.encode_ordinary(row["text"])
        ids.append(eot)
        return {"ids": ids, "length": len(ids)}

    files = sorted(map(str, Path(source).glob("*.jsonl.gz")))
    loaded = load_dataset("json", data_files=files, split="train", num_proc=workers)
    splits = loaded.train_test_split(test_size=0.0005, seed=2357, shuffle=True)
    encoded = splits.map(encode, remove_columns=loaded.column_names, num_proc=workers)
    for name, split in encoded.items():
        write(split, Path(output) / f"{name}.bin")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
