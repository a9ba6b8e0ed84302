"""Make a data set of every format, in two generations, one of packed rows, and beside each what its documents must be.

The expectation is made from the texts with the tokenizers library alone: ids, order, split and cuts come from nothing
of the program. Usage: python prepare.py FOLDER
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from gristmill import pipeline, plugins
from gristmill.commands import chat
from gristmill.config import PrepareConfig, parse
from gristmill.inspection.verify import verify

WIDE = 70_000
"""Ids of the second vocabulary: more than uint16 has."""

LENGTH = 64
ROW_LENGTH = 1024
FURTHER: dict[str, dict[str, Any]] = {
    "build_nanogpt": {"least_tokens": 1000},
    "llmc": {"least_tokens": 1000},
    "mds": {"max_length": LENGTH, "size_limit": 1 << 16},
    "nanochat_text": {"world_size": 4},
    "olmo": {"label_masks": "repetition"},
}
"""What some formats need beside ``cut_by`` to make several files of a small corpus."""


def texts(seed: int, count: int) -> list[str]:
    """Documents of very different lengths, of several scripts, with the end-of-text in words among them; every sixth
    has a run of up to 20 ids that repeat, about half of them 32 times or more."""
    chance = random.Random(seed)
    words = ["mill", "stone ", "\u4e2d\u6587", "gr\u00fctze", "\U0001f33e", "<|endoftext|>", " \n", "0", "\u0394"]
    found = []
    for number in range(count):
        text = "x" + "".join(chance.choices(words, k=chance.choice([1, 5, 50, 400])))
        run = "".join(chance.choices("abcdefgh", k=chance.choice([1, 2, 3, 7, 13, 14, 20])))
        found.append(f"{text} {run * chance.randint(20, 45)}." if number % 6 == 0 else text)
    return found


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


def configuration(folder: Path, formats: list[Any], packing: dict[str, Any]) -> PrepareConfig:
    return parse(
        {
            "dataset": "proof",
            "sources": [{"kind": "files", "name": "made", "paths": [str(folder / "in")]}],
            "cleaning": [],
            "dedup": [],
            "tokenizer": {"kind": "huggingface", "path": str(folder / "tokenizer.json")},
            "ordering": {"kind": "input"},
            "split": {"kind": "fraction", "fraction": 0.2},
            "packing": packing,
            "formats": formats,
            "output": str(folder / "out"),
            "execution": {"work": str(folder / "work")},
        }
    )


def make(folder: Path, vocab_size: int, formats: list[Any], packing: dict[str, Any], counts: list[int]) -> None:
    """One data set, a generation for each of ``counts`` documents, and its ``expected.json``."""
    (folder / "in").mkdir(parents=True)
    encoder = tokenizer(folder / "tokenizer.json", vocab_size)
    config = configuration(folder, formats, packing)
    expected = []
    for generation, count in enumerate(counts, 1):
        found = texts(generation, count)
        lines = "".join(json.dumps({"text": text}) + "\n" for text in found)
        (folder / "in" / f"{generation}.jsonl").write_text(lines)
        pipeline.prepare(config)
        ids = [encoder.encode(text).ids for text in found]
        cut = held_out(len(found))
        expected.append({"train": ids[cut:], "val": ids[:cut], "train_texts": found[cut:], "val_texts": found[:cut]})
    assert verify(str(folder / "out")).problems == []
    about = {"vocab_size": vocab_size, "eot": vocab_size - 1, "length": LENGTH, "generations": expected}
    (folder / "expected.json").write_text(json.dumps(about))


def make_talks(root: Path) -> None:
    """Conversations packed for OLMo with the tokenizer of ``narrow``, and beside them the ids of each, end of text
    behind it, and which of them are to be learned."""
    encoder = Tokenizer.from_file(str(root / "narrow" / "tokenizer.json"))
    encoder.encode_special_tokens = True
    lines, expected = [], []
    every = texts(3, 200)
    for question, answer in zip(every[::2], every[1::2], strict=True):
        roles = {"user": question, "assistant": answer}
        lines.append({"messages": [{"role": role, "content": text} for role, text in roles.items()]})
        spans = [
            (f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n", False),
            (f"{answer}<|im_end|>", True),
            ("\n", False),
        ]
        found = [(token, learn) for text, learn in spans for token in encoder.encode(text).ids]
        if len(found) <= ROW_LENGTH - 1:
            expected.append([*found, (256, False)])
    (root / "talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (root / "talks.json").write_text(json.dumps(expected))
    options = ["--tokenizer", str(root / "narrow" / "out"), "--format", "olmo", "--length", str(ROW_LENGTH - 1)]
    assert chat.main([str(root / "talks.jsonl"), *options, "--output", str(root / "talks")]) == 0


def cut(kind: str) -> dict[str, Any]:
    """Settings of a format for files of up to 10,000 ids, where a split is not one file."""
    cut_by = plugins.fact("formats", kind, "cut_by")
    return {"kind": kind, **({str(cut_by): 10_000} if cut_by else {}), **FURTHER.get(kind, {})}


def make_all(root: Path, *, streams: list[int], rows: list[int]) -> None:
    """``narrow`` and ``wide`` of every format that holds a stream; ``rows`` of packed rows and their text, ``truncate``
    and ``fragment`` of padded rows; ``talks`` of conversations. ``streams`` and ``rows`` count the documents of each
    generation."""
    of_rows = plugins.kinds_by_fact("formats", "holds", "rows")
    narrow = plugins.kinds_by_fact("formats", "dtypes", ("<u2",))
    every = [cut(kind) for kind in plugins.kinds("formats") if kind not in of_rows]
    make(root / "narrow", 257, every, {"kind": "concat"}, streams)
    wide = [entry for entry in every if entry["kind"] not in narrow]
    make(root / "wide", WIDE, wide, {"kind": "concat"}, streams)
    texts_and_rows = [{"kind": "nanochat_text", "world_size": 1}, *({"kind": kind} for kind in of_rows)]
    make(root / "rows", 257, texts_and_rows, {"kind": "best_fit", "length": ROW_LENGTH}, rows)
    for long in ("truncate", "fragment"):
        packing = {"kind": "best_fit_decreasing", "length": ROW_LENGTH - 1, "long": long}
        make(root / long, 257, [{"kind": "parquet_rows"}], packing, rows)
    make_talks(root)


if __name__ == "__main__":
    make_all(Path(sys.argv[1]), streams=[120, 60], rows=[8000])
