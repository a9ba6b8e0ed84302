"""What every tokenizer offers: ids of a batch of texts, flat, without EOS."""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import numpy as np

from gristmill.plugins import Plugin
from gristmill.types import Value


class Encoded(Value, frozen=True, kw_only=True):
    """Ids of a batch of texts, back to back."""

    ids: np.ndarray
    """uint32, all texts' ids concatenated."""
    offsets: np.ndarray
    """int64, ``texts + 1`` long: the ids of text i are ``ids[offsets[i]:offsets[i + 1]]``."""


class Encoder:
    """A loaded tokenizer. Built in the process that uses it, from the archived folder alone."""

    name: str
    """What was asked for: a path, a hub name, or what it was trained on."""
    file: str
    """The file in the folder that determines the ids; its sha256 identifies the tokenizer."""
    vocab_size: int
    """Highest id + 1, added tokens included."""
    eot_id: int | None
    """Id that ends (or starts) a document; None where the vocabulary has none."""
    drops_unknown: bool = False
    """True when a character without an id leaves no trace in the ids."""
    fast_path: str
    """Library and version that encodes; ``reference`` where it is the reference itself."""

    def encode(self, texts: list[str]) -> Encoded:
        """Canonical ids, special-token text encoded as ordinary text, no BOS or EOS added."""
        raise NotImplementedError

    def encode_reference(self, texts: list[str]) -> Encoded:
        """The same by the reference implementation, for comparison."""
        return self.encode(texts)

    def decode(self, ids: np.ndarray) -> str:
        """Text of ids, for people to read."""
        raise NotImplementedError


class Tokenizer(Plugin):
    """Settings of a tokenizer: how to obtain it, and how to load what was archived."""

    has_eot: ClassVar[bool] = True
    """False when its vocabulary never has an end-of-text token."""

    needs_documents: ClassVar[bool] = False
    """True when it is made from the corpus."""

    def source_digest(self) -> str:
        """Identifies the file that it is copied from, for fingerprints; not asked of one made from the corpus."""
        raise NotImplementedError

    def sample(self) -> int | None:
        """About how many characters of the corpus are enough to make it; None: all."""
        return None

    def prepare(self, texts: Iterable[list[str]], folder: Path) -> None:
        """Write the tokenizer's files into ``folder`` (empty, exists). ``texts`` is read only when it is trained."""
        raise NotImplementedError

    def load(self, folder: Path) -> Encoder:
        """The encoder archived in ``folder``."""
        raise NotImplementedError
