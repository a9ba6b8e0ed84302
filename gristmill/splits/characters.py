"""Validation is the end of the text, cut at a character."""

import numpy as np
from pydantic import Field

from gristmill.errors import ConfigError
from gristmill.splits.base import Corpus, Split


class Characters(Split):
    """The first ``int((1 - fraction) * characters)`` characters train, the rest validate; the document at the cut goes
    to both sides. nanoGPT's ``data/shakespeare`` and ``data/shakespeare_char`` are made this way with 0.1."""

    fraction: float = Field(0.1, gt=0, lt=1, description="Share of characters held out for validation.")

    def check_ordering(self, ordering: str) -> None:
        if ordering != "input":
            raise ConfigError(f"split: characters needs ordering: {{kind: input}}, not {ordering!r}")

    def check_mix(self) -> None:
        raise ConfigError("split: characters cuts a document in two, and mix counts whole ones; choose another split")

    def held_out(self, keys: np.ndarray, *, last_shard: bool, shards: int, key_space: int) -> np.ndarray:
        return np.zeros(len(keys), bool)  # asked only when the share is less than one character

    def cut(self, corpus: Corpus) -> int | None:
        return int((1 - self.fraction) * sum(corpus.characters))
