"""Validation is the front of the order."""

import math

import numpy as np
from pydantic import Field

from gristmill.splits.base import Split


class Fraction(Split):
    """The first ``ceil(fraction * documents)`` of a permutation, as ``train_test_split`` in Hugging Face datasets does;
    with hashed keys every document whose key is in the first ``fraction`` of the key space, so that adding documents
    never moves an old one."""

    fraction: float = Field(0.01, gt=0, lt=1, description="Share of documents held out for validation.")

    def held_out(self, keys: np.ndarray, *, last_shard: bool, shards: int, key_space: int) -> np.ndarray:
        return keys < np.uint64(min(math.ceil(self.fraction * key_space), 2**64 - 1))
