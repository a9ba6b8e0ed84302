"""In which order documents are published: a uint64 key each; ties go by (input shard, row)."""

import numpy as np
import pyarrow as pa

from gristmill.plugins import Plugin


class Ordering(Plugin):
    """Gives every kept document its key."""

    def key_space(self, documents: int) -> int:
        """Keys are below this: the number of documents for ranks, 2**64 for hashes."""
        return documents

    def order_keys(self, texts: pa.StringArray, *, first: int, documents: int) -> np.ndarray:
        """uint64 key of each of ``texts``, which are the kept documents ``first, first + 1, ...`` of ``documents``."""
        raise NotImplementedError
