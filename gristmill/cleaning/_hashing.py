"""Hashes of any span of characters from one running sum, and of runs of words from the hashes of the words.

A span's hash is the sum of (code point + 1) times power of an odd number, modulo 2 ** 64, then mixed. It tells
accidental neighbours apart like any 64-bit hash; it is not meant to withstand someone who builds collisions.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from gristmill.cleaning._utf8 import Ints, Spans

Hashes = npt.NDArray[np.uint64]

_MULTIPLIER = 0x9E3779B97F4A7C15
_INVERSE = pow(_MULTIPLIER, -1, 1 << 64)
_BLOCK = 1 << 16
"""Powers are tabled for one block and multiplied by one power a block: no table grows with a document."""


def prefix_sums(characters: npt.NDArray[np.uint32]) -> Hashes:
    """Sums of (code point + 1) times power up to before each character; the last entry is the sum of all."""
    low, high = _powers(_MULTIPLIER), _block_powers(_MULTIPLIER, len(characters))
    sums = np.zeros(len(characters) + 1, np.uint64)
    for block, start in enumerate(range(0, len(characters), _BLOCK)):
        part = characters[start : start + _BLOCK] + np.uint32(1)  # or NUL would add nothing
        np.multiply(part, low[: len(part)] * high[block], out=sums[start + 1 : start + 1 + len(part)])
    return np.cumsum(sums, out=sums)


def span_hashes(prefix: Hashes, spans: Spans) -> Hashes:
    """The hash of each span of the characters whose ``prefix_sums`` are given, independent of where it stands."""
    low, high = _powers(_INVERSE), _block_powers(_INVERSE, len(prefix))
    shift = low[spans.starts % _BLOCK] * high[spans.starts // _BLOCK]
    return scramble((prefix[spans.stops] - prefix[spans.starts]) * shift)


def text_hashes(texts: "tuple[str, ...]") -> Hashes:
    """The hash that a span with each of the texts has."""
    characters = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    lengths = np.array([len(text) for text in texts], np.int64)
    stops = np.cumsum(lengths)
    return span_hashes(prefix_sums(characters), Spans(stops - lengths, stops))


def extend(hashes: Hashes, following: Hashes) -> Hashes:
    """The hashes of sequences with one more element each."""
    return hashes * np.uint64(_MULTIPLIER) + following


def scramble(values: Hashes | Ints) -> Hashes:
    """A bijection that spreads every bit over all (the finaliser of splitmix64)."""
    mixed = values.astype(np.uint64)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


@cache
def _powers(base: int) -> Hashes:
    powers = np.full(_BLOCK, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _block_powers(base: int, characters: int) -> Hashes:
    step = pow(base, _BLOCK, 1 << 64)
    powers = np.full(characters // _BLOCK + 1, step, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)
