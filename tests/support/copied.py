"""Corpora with copies in them, and what the ledger of copies says of them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from gristmill.config import PrepareConfig

EXACT = {"kind": "exact"}
MINHASH = {"kind": "minhash"}


def write_ids(path: Path, texts: dict[str, str]) -> Path:
    """A JSON Lines file of documents with ids."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items()))
    return path


def web(folder: Path, **settings: Any) -> list[dict[str, Any]]:
    """The source of everything in ``folder/in``, with ids."""
    return [{"kind": "files", "name": "web", "paths": [str(folder / "in")], "id_key": "id", **settings}]


def ledger(config: PrepareConfig) -> list[dict[str, Any]]:
    """All rows of the published ledger of copies, file after file."""
    paths = sorted(Path(config.destination).glob("report/duplicates/*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def kept_for(config: PrepareConfig) -> dict[str, str]:
    """By the id of a dropped document: the id of the one that it repeats."""
    return {row["id"]: row["kept_id"] for row in ledger(config)}


def page(seed: int, words: int = 120) -> str:
    """A made-up text; different seeds share no run of words."""
    draw = np.random.default_rng(seed)
    return " ".join(f"w{seed}x{number}" for number in draw.integers(0, 1000, words))


def changed(text: str, *places: int) -> str:
    """The text with some of its words replaced, from an end to keep the similarity high."""
    words = text.split(" ")
    for place in places:
        words[place] = f"changed{place}"
    return " ".join(words)
