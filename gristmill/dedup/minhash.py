"""Documents that share most of their runs of words: MinHash signatures, compared where a band of them agrees."""

import hashlib
import math
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, model_validator

from gristmill.dedup import _permutations
from gristmill.dedup._banding import best_banding
from gristmill.dedup._shingles import Piece, Unit, pieces, shingles
from gristmill.dedup.base import Dedup, Signatures

PRESETS: dict[str, dict[str, Any]] = {
    "datatrove": {"num_perm": 112, "bands": 14, "rows": 8, "ngram": 5, "unit": "words"},
    "nemo": {"num_perm": 260, "bands": 20, "rows": 13, "ngram": 24, "unit": "characters"},
    "seed": {"num_perm": 128, "threshold": 0.8},
}
"""datatrove 0.10's ``MinhashConfig``; NeMo Curator 1.4's fuzzy deduplication; datasketch's own defaults at 0.8."""

PAIR_BYTES = 1 << 20
"""Bytes of ``check`` compared at once."""


class MinHash(Dedup):
    """Two documents are copies when the Jaccard similarity of their sets of shingles is about ``threshold`` or more.

    Shingles are runs of ``ngram`` words, or of ``ngram`` characters where a document is written without spaces (see
    ``_shingles.pieces``). Documents with an equal band of ``rows`` values of the signature are candidates; ``confirm:
    signature`` keeps those whose share of equal values reaches the threshold, ``none`` keeps all. The standard error of
    that share is ``sqrt(s * (1 - s) / num_perm)``: 0.035 for 128 permutations at s = 0.8. ``exact`` compares the sets
    of shingles themselves, which are kept on disk for it: 8 bytes a distinct shingle, about as much as the text.

    Without ``bands`` and ``rows`` datasketch's optimiser chooses them. Unconfirmed, with its own default weights, so
    that they are those of ``MinHashLSH(threshold, num_perm)``; to be confirmed, with 0.9 on missed pairs, since then a
    false candidate costs one comparison and a missed one leaves a copy in the data.

    ``scheme: datasketch`` makes the values of ``datasketch.MinHash(num_perm, seed)`` (2.0, its default hash of SHA-1)
    updated with the UTF-8 of each shingle: words with one space between, characters with nothing between. ``fast``
    differs in the shingle's hash alone: 32 bits of one that is computed for all shingles at once. Both are the same
    on every platform.
    """

    preset: Literal["datatrove", "nemo", "seed"] | None = None
    """Whose settings stand for those that are not given: datatrove's (112 permutations, 14 bands of 8, 5 words), NeMo
    Curator's (260, 20 bands of 13, 24 characters), or datasketch's (128, threshold 0.8)."""
    num_perm: int = Field(
        128, ge=2, le=4096, description="Values of a signature: more are more exact and cost more time."
    )
    threshold: float = Field(0.8, gt=0, le=1, description="Jaccard similarity from which two documents are copies.")
    bands: int | None = Field(None, ge=1, description="Bands of a signature; null: chosen for the threshold.")
    rows: int | None = Field(None, ge=1, description="Values in a band; null: chosen for the threshold.")
    ngram: int = Field(5, ge=1, le=1000, description="Words, or characters, of a shingle.")
    unit: Unit = Field(
        "auto", description="What shingles are made of; auto: characters where a document is written without spaces."
    )
    seed: int = Field(1, ge=0, lt=1 << 32, description="Another seed gives other signatures.")
    scheme: Literal["fast", "datasketch"] = Field(
        "fast", description="Hash of the shingles: fast, or that of datasketch for its values."
    )
    confirm: Literal["none", "signature", "exact"] = Field(
        "signature", description="How candidates are held against each other: not, by signatures, or by their shingles."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, settings: Any) -> Any:
        named = settings.get("preset") if isinstance(settings, dict) else None
        return {**PRESETS[named], **settings} if isinstance(named, str) and named in PRESETS else settings

    @model_validator(mode="after")
    def _fitting_bands(self) -> Self:
        if (self.bands is None) != (self.rows is None):
            raise ValueError("give bands and rows together, or neither to have them chosen for the threshold")
        if self.bands is not None and self.rows is not None and self.bands * self.rows > self.num_perm:
            needed = self.bands * self.rows
            raise ValueError(
                f"{self.bands} bands of {self.rows} rows need num_perm {needed} or more, not {self.num_perm}"
            )
        return self

    def identity(self) -> dict[str, Any]:
        """With the bands and rows in use, chosen or given."""
        bands, rows = self.banding()
        return {**super().identity(), "bands": bands, "rows": rows}

    def banding(self) -> tuple[int, int]:
        """Bands and rows in use."""
        if self.bands is not None and self.rows is not None:
            return self.bands, self.rows
        return best_banding(self.threshold, self.num_perm, 0.5 if self.confirm == "none" else 0.9)

    def band_count(self) -> int:
        return self.banding()[0]

    def check_dtype(self) -> np.dtype:
        """The signature: uint32 with the scheme ``datasketch``, the lowest byte of each value with ``fast``.

        Values that differ have an equal byte once in 256, which the estimate takes off again (b-bit minwise hashing,
        Li and Konig 2010): a quarter of the space, and 12 of 10,000 decisions on edited pairs differ.
        """
        return np.dtype((np.uint8 if self.scheme == "fast" else np.dtype("<u4"), (self.num_perm,)))

    def sign(self, documents: pa.RecordBatch, programs: np.ndarray | None = None) -> Signatures:
        """As in the base class; beyond the result, memory is a few MB however long a document is."""
        texts = documents.column("text")
        signatures = _permutations.empty(len(texts), self.num_perm)
        valid = np.zeros(len(texts), np.bool_)
        hashed = _fast if self.scheme == "fast" else _sha1
        for piece in pieces(texts, self.ngram, self.unit):
            _permutations.lower(signatures, hashed(piece), piece.documents, piece.counts, self.seed)
            valid[piece.documents[piece.counts > 0]] = True
        keys = _permutations.band_keys(signatures, *self.banding())
        return Signatures(
            bands=keys,
            check=signatures.astype(self.check_dtype().base),
            valid=valid,
            sets=_sets(texts, self.ngram, self.unit) if self.compares_sets() else [],
        )

    def confirmed(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        if self.confirm == "none":
            return np.ones(len(first), np.bool_)
        # Three standard errors below the threshold nothing is lost that the sets would confirm, but one in a thousand.
        slack = 3 * math.sqrt(self.threshold * (1 - self.threshold) / self.num_perm) if self.compares_sets() else 0.0
        return self.similarity(first, second) >= self.threshold - slack

    def least(self) -> float | None:
        return None if self.confirm == "none" else self.threshold

    def compares_sets(self) -> bool:
        return self.confirm == "exact"

    def confirmed_by_sets(self, first: np.ndarray, second: np.ndarray) -> bool:
        return self.similarity_of_sets(first, second) >= self.threshold

    def similarity_of_sets(self, first: np.ndarray, second: np.ndarray) -> float:
        common = len(np.intersect1d(first, second, assume_unique=True))
        return common / max(1, len(first) + len(second) - common)

    def similarity(self, first: np.ndarray, second: np.ndarray) -> npt.NDArray[np.float64]:
        """Estimated Jaccard similarity of the pairs of rows of ``check``; that of unlike documents is near 0."""
        equal = np.empty(len(first), np.float64)
        step = math.ceil(PAIR_BYTES / self.check_dtype().itemsize)
        for start in range(0, len(first), step):
            pairs = slice(start, start + step)
            equal[pairs] = np.count_nonzero(first[pairs] == second[pairs], axis=1)
        by_chance = 1 / 256 if self.scheme == "fast" else 0.0
        return (equal / self.num_perm - by_chance) / (1 - by_chance)


def _sets(texts: pa.StringArray, ngram: int, unit: Unit) -> list[npt.NDArray[np.uint64]]:
    hashes, offsets = shingles(texts, ngram, unit)
    return [np.unique(hashes[start:stop]) for start, stop in pairwise(offsets.tolist())]


def _fast(piece: Piece) -> npt.NDArray[np.uint32]:
    return (piece.hashes() >> np.uint64(32)).astype(np.uint32)


def _sha1(piece: Piece) -> npt.NDArray[np.uint32]:
    """datasketch's ``sha1_hash32``: the first four bytes of the digest, little-endian. One call a shingle."""
    digests = b"".join([hashlib.sha1(spelled, usedforsecurity=False).digest() for spelled in piece.spelled()])
    return np.frombuffer(digests, "<u4").reshape(-1, 5)[:, 0].astype(np.uint32)
