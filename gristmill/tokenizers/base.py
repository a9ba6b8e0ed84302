"""What every tokenizer offers: ids of a batch of texts, flat, without EOS."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from gristmill.plugins import Plugin
from gristmill.types import Value


class Encoded(Value, frozen=True, kw_only=True):
    """Ids of a batch of texts, back to back."""

    ids: np.ndarray
    """uint32, all texts' ids concatenated."""
    offsets: np.ndarray
    """int64, ``texts + 1`` long: the ids of text i are ``ids[offsets[i]:offsets[i + 1]]``."""

    def only(self, chosen: np.ndarray) -> "Encoded":
        """Those of the texts that are ``chosen`` (bool, one a text)."""
        lengths = np.diff(self.offsets)
        ids = self.ids[np.repeat(chosen, lengths)]
        return Encoded(ids=ids, offsets=np.concatenate([[0], np.cumsum(lengths[chosen])]))


REFERENCE = "reference: "
"""How ``fast_path`` begins where no fast library is at work."""


REFERENCE_PIECE = 1 << 16
"""A reference encodes texts of up to so many characters whole, where a fast library may do it in pieces."""


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
    unk_id: int | None = None
    """Id of what the vocabulary does not cover; None where it covers everything."""
    specials: Mapping[int, str] = {}
    """Special tokens by id, as they are spelled, without the unknown token."""
    drops_unknown: bool = False
    """True when a character without an id leaves no trace in the ids."""
    fast_path: str = f"{REFERENCE}gristmill"
    """Library and version that encodes, after ``REFERENCE`` where it is the reference itself."""

    def reserved(self) -> dict[int, str]:
        """EOS and the special tokens: ids that no text may have."""
        return ({} if self.eot_id is None else {self.eot_id: "EOS"}) | dict(self.specials)

    def encode(self, texts: list[str]) -> Encoded:
        """Canonical ids, special-token text encoded as ordinary text, no BOS or EOS added."""
        raise NotImplementedError

    def encode_reference(self, texts: list[str]) -> Encoded:
        """The same by the reference implementation, for comparison."""
        return self.encode(texts)

    def pieces(self, text: str) -> Iterator[np.ndarray]:
        """The ids of ``encode``, uint32, by pieces of a long text."""
        yield self.encode([text]).ids

    def reference_pieces(self, text: str) -> Iterator[np.ndarray]:
        """The same of ``encode_reference``."""
        yield self.encode_reference([text]).ids

    def decode(self, ids: np.ndarray) -> str:
        """Text of ids, for people to read."""
        raise NotImplementedError


class Tokenizer(Plugin):
    """Settings of a tokenizer: how to obtain it, how to load what was archived, and how its ids are proven."""

    compare_share: float = Field(
        0.01, ge=0, le=1, description="Share of a shard's documents, 64 at least, that the reference encodes too."
    )
    on_mismatch: Literal["fail", "fallback"] = Field(
        "fail", description="What a shard does when they differ: fail, or be encoded by the reference as a whole."
    )
    on_special_id: Literal["refuse", "quarantine"] = Field(
        "refuse",
        description="What a tokenizer does that gives a text the id of EOS or of a special token: the run is refused "
        "before work begins, or documents with such text are quarantined.",
    )

    has_eot: ClassVar[bool] = True
    """False when its vocabulary never has an end-of-text token."""

    needs_documents: ClassVar[bool] = False
    """True when it is made from the corpus."""

    def identity(self) -> dict[str, Any]:
        """Without ``on_special_id: refuse``, by which no byte changes."""
        found = super().identity()
        return found if self.on_special_id != "refuse" else {k: v for k, v in found.items() if k != "on_special_id"}

    def source_digest(self) -> str:
        """Identifies the file that it is copied from, for fingerprints; not asked of one made from the corpus."""
        raise NotImplementedError

    def check(self) -> None:
        """Raises ``ConfigError`` where something that it needs is not on this machine."""

    def sample(self, characters: dict[str, int]) -> dict[str, float]:
        """Which share of the documents of each source it is made from, given the characters of each.

        Raises ``ConfigError`` when the settings do not fit these sources.
        """
        return dict.fromkeys(characters, 1.0)

    def sample_seed(self) -> int:
        """Another one gives another sample of the same size."""
        return 0

    def prepare(self, texts: Iterable[list[str]], folder: Path) -> None:
        """Write the tokenizer's files into ``folder`` (empty, exists). ``texts`` is read only when it is trained, and
        may be read several times."""
        raise NotImplementedError

    def load(self, folder: Path) -> Encoder:
        """The encoder archived in ``folder``."""
        raise NotImplementedError
