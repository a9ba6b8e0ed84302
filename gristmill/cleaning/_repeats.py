"""Which pieces of a document occur more than once in it: lines, paragraphs, and runs of n words."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gristmill.cleaning._hashing import Hashes, extend, scramble
from gristmill.cleaning._tables import Pieces
from gristmill.cleaning._utf8 import Ints


@dataclass(frozen=True, slots=True)
class Groups:
    """The places that share their key with another place, group by group."""

    members: Ints
    """Places, those of a group side by side."""
    bounds: Ints
    """Index in ``members`` at which each group starts."""

    @property
    def sizes(self) -> Ints:
        return np.diff(self.bounds, append=len(self.members))

    @property
    def firsts(self) -> Ints:
        """The first place of each group."""
        return np.minimum.reduceat(self.members, self.bounds) if len(self.bounds) else self.members

    def later(self) -> Ints:
        """Every place but the first of each group, ascending."""
        if len(self.members) == 0:
            return self.members
        repeats = np.zeros(int(self.members.max()) + 1, np.bool_)
        repeats[self.members] = True
        repeats[self.firsts] = False
        return np.flatnonzero(repeats)


def groups(keys: Hashes, places: Ints) -> Groups:
    """The places whose key occurs more than once."""
    order = np.argsort(keys)
    ordered = keys[order]
    new = np.ones(len(keys) + 1, np.bool_)
    new[1:-1] = ordered[1:] != ordered[:-1]
    shared = ~(new[:-1] & new[1:])
    return Groups(places[order[shared]], np.flatnonzero(new[:-1][shared]))


def piece_groups(pieces: Pieces) -> Groups:
    """Pieces that occur more than once in their document."""
    return groups(pieces.keys(), np.arange(len(pieces.starts)))


@dataclass(frozen=True, slots=True)
class Ngrams:
    """The runs of ``n`` words that occur more than once in their document, by the index of their first word."""

    n: int
    groups: Groups
    words: Pieces

    def top_characters(self) -> Ints:
        """Per document, what the occurrences of its most frequent run span, each with its own white space; among equals
        the first run in the text."""
        found, words = self.groups, self.words
        # The highest count wins, then the lowest place: both packed in one number, 31 bits for the place.
        rank = (found.sizes << 31) + (1 << 31) - 1 - found.firsts
        documents = words.documents[found.firsts]
        best = np.zeros(len(words.firsts) - 1, np.int64)
        np.maximum.at(best, documents, rank)
        top = rank == best[documents]
        spans = words.stops[found.members + self.n - 1] - words.starts[found.members]
        best[documents[top]] = np.add.reduceat(spans, found.bounds)[top] if len(spans) else 0
        return best

    def covered_characters(self, ends: Ints) -> Ints:
        """Per document, characters of the words inside any run that came up before; each word counts once.

        ``ends`` holds the characters of all words up to before each word.
        """
        places = self.groups.later()
        documents = self.words.documents[places]
        stops = places + self.n
        stops[:-1] = np.minimum(stops[:-1], places[1:])
        covered = np.bincount(documents, ends[stops] - ends[places], minlength=len(self.words.firsts) - 1)
        return covered.astype(np.int64)


def repeated_ngrams(words: Pieces, longest: int) -> Iterator[Ngrams]:
    """For n from 2 to ``longest``. A run repeats only where its first n - 1 words do, so few places are left soon."""
    last = np.repeat(words.firsts[1:], words.counts)
    salt = scramble(words.documents)
    places = np.arange(len(words.starts))
    hashes = words.hashes
    for n in range(2, longest + 1):
        fits = places + n <= last[places]
        places, hashes = places[fits], hashes[fits]
        hashes = extend(hashes, words.hashes[places + n - 1])
        found = groups(scramble(hashes ^ salt[places]), places)
        yield Ngrams(n, found, words)
        repeated = np.zeros(len(words.starts), np.bool_)
        repeated[found.members] = True
        places, hashes = places[repeated[places]], hashes[repeated[places]]
