"""MinHash signatures by explicit permutations: those of ``datasketch.MinHash`` (scheme ``affine32``), bit for bit.

The hash of a shingle is first mixed by the finaliser of MurmurHash3; permutation k then sends h to a_k * h + b_k modulo
2 ** 32 with a_k odd, and the signature holds the smallest value of each. Permutations and mixing are datasketch 2.0's.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Signature = npt.NDArray[np.uint32]


def empty(documents: int, num_perm: int) -> Signature:
    """Signatures ``(documents, num_perm)`` of documents without a shingle: all bits set."""
    return np.full((documents, num_perm), 0xFFFFFFFF, np.uint32)


def lower(signatures: Signature, hashes: Signature, documents: Ints, counts: Ints, seed: int) -> None:
    """Take more shingles into the signatures: ``counts[i]`` of ``hashes``, in order, belong to ``documents[i]``.

    One multiplication, addition and segmented minimum a permutation over arrays that stay in the cache: 0.2 ns a
    shingle and permutation. One-permutation hashing needs one pass instead of ``num_perm``, but leaves bins of short
    documents empty, and what fills them (densification) raises the error just there.
    """
    documents, firsts = documents[counts > 0], (np.cumsum(counts) - counts)[counts > 0]
    if len(documents) == 0:
        return
    mixed = _mixed(hashes)
    value = np.empty_like(mixed)
    found = np.empty((signatures.shape[1], len(documents)), np.uint32)
    for place, (factor, summand) in enumerate(zip(*permutations(signatures.shape[1], seed), strict=True)):
        np.multiply(mixed, factor, out=value)
        np.add(value, summand, out=value)
        np.minimum.reduceat(value, firsts, out=found[place])
    signatures[documents] = np.minimum(signatures[documents], found.T)


@cache
def permutations(num_perm: int, seed: int) -> tuple[Signature, Signature]:
    """Factors (odd) and summands, as ``datasketch.MinHash(num_perm, seed)`` draws them."""
    draw = np.random.RandomState(seed)
    factors = draw.randint(0, 1 << 31, num_perm, np.uint32) * np.uint32(2) + np.uint32(1)
    return factors, draw.randint(0, 1 << 32, num_perm, np.uint32)


def band_keys(signatures: Signature, bands: int, rows: int) -> npt.NDArray[np.uint64]:
    """``(documents, bands)``: a 64-bit hash of each band's ``rows`` values and its number."""
    values = signatures[:, : bands * rows].reshape(-1, bands, rows)
    keys = np.broadcast_to(np.arange(1, bands + 1, dtype=np.uint64), values.shape[:2]).copy()
    for row in range(rows):
        keys ^= values[:, :, row]
        keys *= np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(32)
    return keys


def _mixed(hashes: Signature) -> Signature:
    mixed = hashes ^ (hashes >> np.uint32(16))
    mixed *= np.uint32(0x85EBCA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    return mixed
