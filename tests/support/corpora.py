"""Small corpora, the configurations that prepare them, and what a published data set holds, read back slowly."""

import gzip
import hashlib
import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from data import GPT2, real_texts
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from gristmill import ledger
from gristmill.config import PrepareConfig, parse
from gristmill.types import StageReport

EOT = 256
"""End of text in ``byte_tokenizer``; its other ids are the bytes of the text in another order."""


def write_documents(path: Path, texts: Iterable[str]) -> Path:
    """A JSON Lines file, compressed when it is named ``.gz``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    path.write_bytes(gzip.compress(data, 1, mtime=0) if path.suffix == ".gz" else data)
    return path


def cut_short(path: Path) -> Path:
    """Leave the first half of a file, as an upload that was broken off does."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def small_corpus(count: int) -> list[str]:
    """The first of the real texts."""
    return list(real_texts()[:count])


@cache
def _byte_tokenizer() -> tuple[str, dict[int, int]]:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {mark: number for number, mark in enumerate(alphabet)} | {"<|endoftext|>": EOT}
    made = Tokenizer(models.BPE(vocabulary, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|endoftext|>"])
    # The one-character tokens that stand for each byte, found by encoding it where it is a text of its own.
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    marks = {byte: chr(byte) for byte in printable}
    others = [byte for byte in range(256) if byte not in printable]
    marks |= {byte: chr(0x100 + place) for place, byte in enumerate(others)}
    return made.to_str(), {vocabulary[mark]: byte for byte, mark in marks.items()}


def byte_tokenizer(path: Path) -> Path:
    """Write a ``tokenizer.json`` with an id a byte and ``EOT``: quick to load, and decoded by one look-up."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_byte_tokenizer()[0])
    return path


def request(folder: Path, **settings: Any) -> PrepareConfig:
    """A configuration below ``folder``: its ``in/``, ``out/`` and ``work/``, a byte tokenizer, nothing cleaned."""
    tokenizer = byte_tokenizer(folder / "tokenizer.json")
    document: dict[str, Any] = {
        "dataset": "test",
        "sources": [{"kind": "files", "name": "web", "paths": [str(folder / "in")]}],
        "cleaning": [],
        "dedup": [],
        "tokenizer": {"kind": "huggingface", "path": str(tokenizer)},
        "ordering": {"kind": "input"},
        "split": {"kind": "none"},
        "output": str(folder / "out"),
        "execution": {"work": str(folder / "work"), "workers": 2},
    }
    return parse(document | settings)


def tree(folder: Path) -> dict[str, str]:
    """sha256 of every file below a folder, hidden ones included."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def documents_of(path: Path) -> list[str]:
    """The texts in a ``.bin`` of byte tokens."""
    return texts_of(path.read_bytes())


def texts_of(data: bytes) -> list[str]:
    """The texts in byte tokens, split after each EOT."""
    ids = np.frombuffer(data, "<u2")
    if not ids.size:
        return []
    assert ids[-1] == EOT
    bytes_of = _byte_tokenizer()[1]
    pieces = np.split(ids, np.flatnonzero(ids == EOT) + 1)[:-1]
    return [bytes(bytes_of[token] for token in piece[:-1].tolist()).decode() for piece in pieces]


def published(config: PrepareConfig) -> list[str]:
    """The texts of the train file, then of the validation file."""
    folder = Path(config.destination) / "nanogpt"
    paths = [folder / "train.bin", folder / "val.bin"]
    return [text for path in paths if path.exists() for text in documents_of(path)]


def reports(config: PrepareConfig) -> list[StageReport]:
    """Every report in the work area."""
    paths = sorted(Path(config.execution.work).glob("*/*/report.json"))
    found = [ledger.present(path.parent) for path in paths]
    assert all(report is not None for report in found)
    return [report for report in found if report is not None]


def nanogpt_reference(texts: list[str], fraction: float) -> dict[str, bytes]:
    """nanoGPT's ``data/openwebtext/prepare.py`` without its libraries: permute, hold out, encode, append 50256."""
    tokenizer = Tokenizer.from_file(str(GPT2))
    tokenizer.encode_special_tokens = True
    streams = [[*row.ids, 50256] for row in tokenizer.encode_batch(texts, add_special_tokens=False)]
    order = np.random.default_rng(2357).permutation(len(texts))
    held_out = math.ceil(fraction * len(texts))
    parts = {"val.bin": order[:held_out], "train.bin": order[held_out:]}
    return {
        name: np.array([token for place in places for token in streams[place]], np.uint16).tobytes()
        for name, places in parts.items()
    }
