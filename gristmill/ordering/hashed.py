"""Documents are ordered by a keyed hash of their text."""

import numpy as np
import pyarrow as pa
from pydantic import Field

from gristmill.columns import hashes
from gristmill.ordering.base import Ordering


class Hashed(Ordering):
    """xxh3_64 of the UTF-8 text with the seed: a shuffle in which old documents keep their relative order when new
    ones arrive, and which needs no knowledge of the other documents."""

    seed: int = Field(0, ge=0, lt=2**64, description="Another seed gives another order.")

    def key_space(self, documents: int) -> int:
        return 2**64

    def order_keys(self, texts: pa.StringArray, *, first: int, documents: int) -> np.ndarray:
        return hashes(texts, self.seed)
