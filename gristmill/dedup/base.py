"""What every kind of duplicate removal offers."""

import numpy as np
import pyarrow as pa

from gristmill.plugins import Plugin

SIGNATURE = np.dtype([("high", "<u8"), ("low", "<u8"), ("row", "<u4")])
"""One exact signature: 128 bits of hash and the document's row in its cleaned shard."""


class Dedup(Plugin):
    """Finds documents that repeat an earlier one. Of equal documents the first in global order stays."""

    def signatures(self, texts: pa.StringArray) -> np.ndarray:
        """``SIGNATURE`` array of ``len(texts)`` with ``row`` counted from 0 within ``texts``."""
        raise NotImplementedError
