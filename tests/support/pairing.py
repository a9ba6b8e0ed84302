"""Duplicate decisions for a few documents at a time, by comparing every pair."""

import gzip
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa

from gristmill.dedup.base import Dedup


def copies(kind: Dedup, documents: pa.RecordBatch) -> set[tuple[int, int]]:
    """The pairs of rows that are candidates in some band and confirmed, the smaller row first."""
    signed = kind.sign(documents)
    pairs = np.array(list(combinations(np.flatnonzero(signed.valid).tolist(), 2)), np.int64).reshape(-1, 2)
    first, second = pairs.T
    candidate = (signed.bands[first] == signed.bands[second]).any(axis=1)
    first, second = first[candidate], second[candidate]
    confirmed = kind.confirmed(signed.check[first], signed.check[second])
    return set(zip(first[confirmed].tolist(), second[confirmed].tolist(), strict=True))


def groups(pairs: set[tuple[int, int]], documents: int) -> int:
    """How many documents are left when one of each connected group stays."""
    leader = list(range(documents))
    for first, second in sorted(pairs):
        old, new = leader[second], leader[first]
        leader = [new if place == old else place for place in leader]
    return len(set(leader))


def texts_of(*paths: Path, field: str = "text") -> list[str]:
    """The texts, or another field, of jsonl files, plain or gzip, file after file."""
    found: list[str] = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            found += [json.loads(line)[field] for line in lines]
    return found
