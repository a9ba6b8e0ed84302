"""Words, lines and paragraphs of a batch, found once and shared by every filter that looks at it.

Python per word costs more than all other stages together, so the analysis is arrays: code points, a class per code
point, and the places where words and lines start and stop. One polynomial prefix sum over the code points gives the
hash of any span by two look-ups, so words, lines and paragraphs are compared without ever being cut out.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gristmill.cleaning._characters import BREAK, JOINED, SOLO, SPACE, classes
from gristmill.cleaning._hashing import Hashes, prefix_sums, scramble, span_hashes
from gristmill.cleaning._utf8 import NEWLINE, Bools, Bytes, Ints, Spans, Utf8


@dataclass(frozen=True, slots=True)
class Pieces:
    """Words, lines or paragraphs: half-open ranges of characters of a chunk, ascending and disjoint."""

    starts: Ints
    stops: Ints
    hashes: Hashes
    """64 bits of each piece's characters: equal pieces have equal hashes."""
    firsts: Ints
    """Index of each document's first piece; the last entry is the number of pieces."""
    documents: Ints
    """The document of each piece."""

    @property
    def counts(self) -> Ints:
        """Pieces of each document."""
        return np.diff(self.firsts)

    @property
    def lengths(self) -> Ints:
        """Characters of each piece."""
        return self.stops - self.starts

    def keys(self) -> Hashes:
        """The hashes, made different from one document to the next."""
        return self.hashes + scramble(self.documents)


class Tables:
    """The analysis of a run of whole documents; every part is computed when it is first asked for.

    A word is a run of characters without white space; each ideograph, kana and Thai, Lao, Burmese or Khmer syllable
    is a word of its own, and wide punctuation separates words as white space does. A line is what stands between
    newlines, stripped of white space; a paragraph is what stands between empty lines. Empty lines are no lines.
    """

    def __init__(self, utf8: Utf8, lengths: Ints) -> None:
        self.utf8 = utf8
        self.lengths = lengths
        """Characters of each document."""
        self.offsets: Ints = np.concatenate(([0], np.cumsum(lengths)))
        """Where each document starts in ``characters``, and where the last one stops."""

    @cached_property
    def characters(self) -> npt.NDArray[np.uint32]:
        """The code points of all documents."""
        if self.offsets[-1] == len(self.utf8.data):
            return self.utf8.data.astype(np.uint32)
        return np.frombuffer(self.utf8.data.tobytes().decode().encode("utf-32-le"), np.uint32)

    @cached_property
    def classes(self) -> Bytes:
        """The flags of ``_characters`` for each character."""
        return classes()[self.characters]

    @cached_property
    def byte_offsets(self) -> Ints:
        """Where each character starts in ``utf8.data``; the last entry is the number of bytes."""
        return np.append(np.flatnonzero((self.utf8.data & 0xC0) != 0x80), len(self.utf8.data))

    @cached_property
    def folded(self) -> bytes:
        """The bytes of all documents with ASCII letters in lower case."""
        return self.utf8.data.tobytes().lower()

    @cached_property
    def newlines(self) -> Ints:
        return np.flatnonzero(self.characters == NEWLINE)

    @cached_property
    def words(self) -> Pieces:
        own, member = self.flag(SOLO), self.flag(SOLO, JOINED)
        own[1:] |= member[:-1] & ~member[1:]
        return self._pieces(self._spans(self.flag(BREAK), own))

    @cached_property
    def lines(self) -> Pieces:
        return self._joined(1)

    @cached_property
    def paragraphs(self) -> Pieces:
        return self._joined(2)

    @cached_property
    def word_flags(self) -> Bytes:
        """All flags of a word's characters; the symbols that separate it from the next word may be among them."""
        starts = self.words.starts
        return np.bitwise_or.reduceat(self.classes, starts) if len(starts) else np.empty(0, np.uint8)

    def count(self, mask: Bools) -> Ints:
        """Per document, how many characters ``mask`` marks."""
        return np.diff(np.searchsorted(np.flatnonzero(mask), self.offsets))

    def number(self, pieces: Pieces, chosen: Bools | Ints) -> Ints:
        """Per document, how many of its pieces are chosen, by a mask or by index."""
        return np.bincount(pieces.documents[chosen], minlength=len(self.lengths))

    def total(self, pieces: Pieces, chosen: Bools | Ints) -> Ints:
        """Per document, the characters of its chosen pieces, which are given by a mask or by index."""
        weights = pieces.lengths[chosen]
        return np.bincount(pieces.documents[chosen], weights, minlength=len(self.lengths)).astype(np.int64)

    def flag(self, *flags: int) -> Bools:
        marked: Bools = (self.classes & np.uint8(sum(flags))) != 0
        return marked

    @cached_property
    def _prefix(self) -> Hashes:
        return prefix_sums(self.characters)

    @cached_property
    def runs(self) -> Spans:
        """What stands between white space."""
        return self._spans(self.flag(SPACE), np.zeros(len(self.characters), np.bool_))

    def _spans(self, gaps: Bools, own: Bools) -> Spans:
        """Runs outside ``gaps``, cut at the edges of documents and before each of ``own``."""
        opens = np.ones(len(gaps) + 1, np.bool_)
        opens[1:-1] = gaps[:-1] | own[1:]
        opens[self.offsets] = True
        closes = opens[1:].copy()
        closes[:-1] |= gaps[1:]
        return Spans(np.flatnonzero(opens[:-1] & ~gaps), np.flatnonzero(closes & ~gaps) + 1)

    def _joined(self, newlines: int) -> Pieces:
        """Runs between white space, joined over gaps with fewer newlines than this."""
        runs = self.runs
        opens = np.bincount(np.searchsorted(runs.starts, self.newlines), minlength=len(runs.starts) + 1) >= newlines
        opens[np.searchsorted(runs.starts, self.offsets)] = True
        opening = np.flatnonzero(opens)
        return self._pieces(Spans(runs.starts[opening[:-1]], runs.stops[opening[1:] - 1]))

    def _pieces(self, spans: Spans) -> Pieces:
        firsts = np.searchsorted(spans.starts, self.offsets)
        documents = np.repeat(np.arange(len(self.lengths)), np.diff(firsts))
        return Pieces(spans.starts, spans.stops, span_hashes(self._prefix, spans), firsts, documents)


def share(part: Ints, whole: Ints) -> npt.NDArray[np.float64]:
    """``part / whole``, and 0 where there is nothing of either."""
    return np.true_divide(part, np.maximum(whole, 1))
