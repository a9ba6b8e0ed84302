"""Documents stay in input order."""

import numpy as np

from gristmill.ordering.base import Ordering


class Input(Ordering):
    """No shuffling: the key is the place in the input."""

    def order_keys(self, texts: list[str], *, first: int, documents: int) -> np.ndarray:
        return np.arange(first, first + len(texts), dtype=np.uint64)
