"""Which documents are held out for validation."""

import numpy as np

from gristmill.plugins import Plugin
from gristmill.types import Value


class Corpus(Value, frozen=True, kw_only=True):
    """What is known of the kept documents before they are tokenized, per cleaned shard in document order."""

    documents: list[int]
    characters: list[int]


class Split(Plugin):
    """Assigns every document to ``train`` or ``val``."""

    def check_ordering(self, ordering: str) -> None:
        """Raises ``ConfigError`` when the split makes no sense with this kind of ordering."""

    def check_mix(self) -> None:
        """Raises ``ConfigError`` when the training part cannot be mixed from whole documents."""

    def held_out(self, keys: np.ndarray, *, last_shard: bool, shards: int, key_space: int) -> np.ndarray:
        """bool, one per key: True for validation. ``keys`` are the uint64 order keys of some documents of one
        shard; ``last_shard`` says whether it is the last of ``shards`` input shards."""
        raise NotImplementedError

    def cut(self, corpus: Corpus) -> int | None:
        """Character offset in the stream of all kept documents at which one document is cut in two; None: nowhere."""
        return None
