"""Hashes of all runs of n words, or of n characters, of a batch of documents, without a Python object per word."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.columns import utf8
from gristmill.dedup._tokens import Hashes, Ints, Tokens, characters, words

Unit = Literal["auto", "words", "characters"]

PIECE = 1 << 18
"""Bytes of text analysed at once: its arrays stay in the second-level cache and no document makes them larger."""
SHARE = 0.3
"""Of a document's characters: from here on those in scripts without spaces make it one of characters."""

_POWER = 0x9E3779B97F4A7C15
_UNSPACED = np.zeros(1 << 16, np.bool_)
"""By the first two bytes of a character: does its script write without spaces?"""
for _first, _last in (
    (0xE0B8, 0xE0BB),  # Thai, Lao: U+0E00 to U+0EFF
    (0xE180, 0xE181),  # Myanmar: U+1000 to U+107F
    (0xE19E, 0xE19F),  # Khmer: U+1780 to U+17FF
    (0xE381, 0xE383),  # kana: U+3040 to U+30FF
    (0xE390, 0xE9BF),  # Han: U+3400 to U+9FFF
    (0xEFA4, 0xEFAB),  # Han, compatibility forms: U+F900 to U+FAFF
    (0xF0A0, 0xF0BF),  # Han, supplementary planes: U+20000 to U+3FFFF
):
    _UNSPACED[_first : _last + 1] = True


@dataclass(frozen=True, slots=True)
class Piece:
    """The shingles of some documents, or of a part of one long document."""

    documents: Ints
    """Ascending places in the batch."""
    counts: Ints
    """Shingles of each of the documents."""
    tokens: Tokens
    starting: npt.NDArray[np.bool_]
    """Which tokens a shingle starts with; shorter than the tokens by ``ngram - 1``."""
    ngram: int

    def hashes(self) -> Hashes:
        """A 64-bit hash of each shingle."""
        return _scrambled(_runs(self.tokens.hashes(), self.ngram)[self.starting])

    def spelled(self) -> list[memoryview]:
        """The folded bytes of each shingle: words with one space between, or characters with nothing between."""
        joined, starts, stops = self.tokens.joined()
        view, places = memoryview(joined), np.flatnonzero(self.starting)
        ends = stops[places + (self.ngram - 1)]
        return [view[start:stop] for start, stop in zip(starts[places].tolist(), ends.tolist(), strict=True)]


def pieces(texts: pa.StringArray, ngram: int, unit: Unit) -> Iterator[Piece]:
    """Pieces that together hold every shingle of every document once.

    A shingle is ``ngram`` consecutive words of the folded text (see ``_tokens``), or as many consecutive characters of
    it with the separators left out. ``auto`` chooses for each document: characters where at least ``SHARE`` of its
    code points are Han, kana, Thai, Lao, Khmer or Myanmar, words otherwise. A document with fewer than ``ngram`` of
    them has no shingle. Nothing depends on what else is in the batch. ``texts`` has no nulls.
    """
    offsets, data = utf8(texts)
    single = unspaced(texts) if unit == "auto" else np.full(len(texts), unit == "characters")
    for tokenise, of_unit in ((words, ~single), (characters, single)):
        for group in _groups(np.flatnonzero(of_unit), offsets):
            views = [data[offsets[document] : offsets[document + 1]] for document in group.tolist()]
            for tokens in [tokenise(views)] if len(views[0]) <= PIECE else _parts(views[0], ngram, tokenise):
                yield _piece(group, tokens, ngram)


def shingles(texts: pa.StringArray, ngram: int = 5, unit: Unit = "auto") -> tuple[Hashes, Ints]:
    """The hashes of all shingles, document after document, and the int64 offsets of each document's in it."""
    found, owners = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for piece in pieces(texts, ngram, unit):
        found.append(piece.hashes())
        owners.append(np.repeat(piece.documents, piece.counts))
    owner = np.concatenate(owners)
    hashes = np.concatenate(found)[np.argsort(owner, kind="stable")]
    return hashes, np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(texts)))))


def unspaced(texts: pa.StringArray) -> npt.NDArray[np.bool_]:
    """Which documents are at least ``SHARE`` characters of scripts that write without spaces."""
    offsets, data = utf8(texts)
    counts = np.zeros(len(texts), np.int64)
    raw = np.frombuffer(data, np.uint8)
    for start in range(0, len(raw) - 1, PIECE):
        block = raw[start : start + PIECE + 1]
        leads = np.flatnonzero(block[:-1] >= 0xE0)
        pairs = block[leads].astype(np.int64) << 8 | block[leads + 1]
        counts += np.diff(np.searchsorted(leads[_UNSPACED[pairs]] + start, offsets))
    enough: npt.NDArray[np.bool_] = counts >= np.maximum(SHARE * pc.utf8_length(texts).to_numpy(), 1)
    return enough


def _groups(documents: Ints, offsets: Ints) -> Iterator[Ints]:
    """The documents in groups of up to ``PIECE`` bytes; a larger one is alone."""
    first = size = 0
    for place, length in enumerate((offsets[documents + 1] - offsets[documents]).tolist()):
        if size + length > PIECE and place > first:
            yield documents[first:place]
            first, size = place, 0
        size += length
    if len(documents):
        yield documents[first:]


def _parts(text: memoryview, ngram: int, tokenise: Callable[[list[memoryview]], Tokens]) -> Iterator[Tokens]:
    """The tokens of a long document, part after part; each starts ``ngram - 1`` tokens before the last one's end."""
    start, size = 0, PIECE
    while start + size < len(text):
        tokens = tokenise([text[start : start + size]])
        if len(tokens.starts) <= ngram:
            size *= 2  # words longer than a piece
            continue
        yield tokens.without_last()  # which may be cut
        start += int(tokens.starts[-ngram]) - 1
        size = PIECE
    yield tokenise([text[start:]])


def _piece(documents: Ints, tokens: Tokens, ngram: int) -> Piece:
    starting = np.ones(max(len(tokens.starts) - ngram + 1, 0), np.bool_)
    # A run of n tokens from one of the last n - 1 before a document's end crosses that end, wherever it started.
    crossing = (tokens.offsets[1:, None] - np.arange(1, ngram)).ravel()
    starting[crossing[(crossing >= 0) & (crossing < len(starting))]] = False
    return Piece(documents, np.maximum(np.diff(tokens.offsets) - (ngram - 1), 0), tokens, starting, ngram)


def _runs(hashes: Hashes, ngram: int) -> Hashes:
    """Per run of ``ngram`` hashes, their sum as digits to the base ``_POWER``, modulo 2 ** 64.

    Runs double in length and grow by one, as the bits of ``ngram`` say: 3 passes for 5, 5 for 24.
    """
    runs, length = hashes, 1
    for bit in f"{ngram:b}"[1:]:
        runs = runs[:-length] * np.uint64(pow(_POWER, length, 1 << 64)) + runs[length:]
        length *= 2
        if bit == "1":
            runs = runs[:-1] * np.uint64(_POWER) + hashes[length:]
            length += 1
    return runs


def _scrambled(hashes: Hashes) -> Hashes:
    """The finaliser of MurmurHash3, in place: sums of products leave the lower bits poor."""
    for constant in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        hashes ^= hashes >> np.uint64(33)
        hashes *= np.uint64(constant)
    hashes ^= hashes >> np.uint64(33)
    return hashes
