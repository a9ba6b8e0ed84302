"""Make a data set of every format, in two generations, and beside it what its documents must be.

The expectation is made from the texts with the tokenizers library alone: ids, order, split and cuts come from nothing
of the program. Usage: python prepare.py FOLDER
"""

import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from gristmill import plugins, serial
from gristmill.config import parse
from gristmill.stages.verify import verify

WIDE = 70_000
"""Ids of the second vocabulary: more than uint16 has."""

LENGTH = 64
SMALL = {
    "build_nanogpt": {"shard_tokens": 10_000, "least_tokens": 1000},
    "datatrove": {"max_tokens": 10_000},
    "huggingface": {"max_tokens": 10_000},
    "litdata": {"chunk_tokens": 10_000},
    "llmc": {"shard_tokens": 10_000, "least_tokens": 1000},
    "mds": {"max_length": LENGTH, "size_limit": 1 << 16},
    "nanochat_text": {"shard_bytes": 10_000, "world_size": 4},
    "olmo": {"max_tokens": 10_000},
    "shard_idx": {"max_tokens": 10_000},
}


def texts(seed: int, count: int) -> list[str]:
    """Documents of very different lengths, of several scripts, with the end-of-text in words among them."""
    chance = random.Random(seed)
    words = ["mill", "stone ", "\u4e2d\u6587", "gr\u00fctze", "\U0001f33e", "<|endoftext|>", " \n", "0", "\u0394"]
    return ["x" + "".join(chance.choices(words, k=chance.choice([1, 5, 50, 400]))) for _ in range(count)]


def tokenizer(path: Path, vocab_size: int) -> Tokenizer:
    """An id a byte, ids without a use, the end of text last."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*alphabet, *(f"<unused{number}>" for number in range(256, vocab_size - 1)), "<|endoftext|>"]
    made = Tokenizer(models.BPE({name: number for number, name in enumerate(names)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|endoftext|>"])
    path.write_text(made.to_str())
    made.encode_special_tokens = True
    return made


def held_out(count: int) -> int:
    return -(-count // 5)


def make(folder: Path, vocab_size: int) -> None:
    """One data set and its ``expected.json``."""
    (folder / "in").mkdir(parents=True)
    encoder = tokenizer(folder / "tokenizer.json", vocab_size)
    formats = [
        {"kind": kind, **SMALL.get(kind, {})}
        for kind in plugins.kinds("formats")
        if vocab_size <= 1 << 16 or kind not in ("nanogpt", "build_nanogpt")
    ]
    config = parse(
        {
            "dataset": "proof",
            "sources": [{"kind": "files", "name": "made", "paths": [str(folder / "in")]}],
            "cleaning": [],
            "dedup": [],
            "tokenizer": {"kind": "huggingface", "path": str(folder / "tokenizer.json")},
            "ordering": {"kind": "input"},
            "split": {"kind": "fraction", "fraction": 0.2},
            "formats": formats,
            "output": str(folder / "out"),
            "execution": {"work": str(folder / "work")},
        }
    )
    expected = []
    for generation, name in enumerate(("a", "b"), 1):
        found = texts(generation, 120 // generation)
        lines = "".join(json.dumps({"text": text}) + "\n" for text in found)
        (folder / "in" / f"{name}.jsonl").write_text(lines)
        serial.prepare(config)
        ids = [encoder.encode(text).ids for text in found]
        cut = held_out(len(found))
        expected.append({"train": ids[cut:], "val": ids[:cut], "train_texts": found[cut:], "val_texts": found[:cut]})
    assert verify(str(folder / "out")).problems == []
    about = {"vocab_size": vocab_size, "eot": vocab_size - 1, "length": LENGTH, "generations": expected}
    (folder / "expected.json").write_text(json.dumps(about))


if __name__ == "__main__":
    root = Path(sys.argv[1])
    make(root / "narrow", 257)
    make(root / "wide", WIDE)
