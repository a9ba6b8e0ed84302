"""nanoGPT's order: one permutation of all documents."""

from functools import lru_cache

import numpy as np
import pyarrow as pa
from pydantic import Field

from gristmill.ordering.base import Ordering


class NanoGPT(Ordering):
    """``numpy.random.default_rng(seed).permutation(n)``: the shuffle that ``train_test_split(seed=2357)`` of Hugging
    Face datasets makes in nanoGPT's ``data/openwebtext/prepare.py``. Every process holds it whole: 8 bytes a document
    while it is made, 4 after."""

    seed: int = Field(2357, ge=0, description="nanoGPT uses 2357.")

    def order_keys(self, texts: pa.StringArray, *, first: int, documents: int) -> np.ndarray:
        return _ranks(self.seed, documents)[first : first + len(texts)].astype(np.uint64)


@lru_cache(maxsize=1)
def _ranks(seed: int, documents: int) -> np.ndarray:
    """Place of each document in the shuffled order."""
    ranks = np.empty(documents, np.uint32)
    ranks[np.random.default_rng(seed).permutation(documents)] = np.arange(documents, dtype=np.uint32)
    return ranks
