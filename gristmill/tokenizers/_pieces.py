"""Ids of a long text piece by piece: what a library takes for it, 50 to 200 bytes a byte, it takes for a piece."""

from collections.abc import Callable, Iterator

import numpy as np

from gristmill.errors import InputError
from gristmill.tokenizers._cuts import AROUND, Cuts
from gristmill.tokenizers._rules import Rules
from gristmill.tokenizers.base import Encoded, Encoder
from gristmill.types import Value

PIECE = 1 << 15
"""Characters: at most 128 kB of UTF-8, of which one word takes 7 MB while it is merged."""

LOOK_BACK = 2048
"""Places before the end of a piece that are tried."""

MOST, TRIES = 256, 8
"""Places within words, all in all and at once: one in four is a boundary in most texts, of a run of "=" one in 64."""


class _Cut(Value, frozen=True, kw_only=True):
    """A place within a word must go on with the id ``first``: it was seen beside the last one before it."""

    at: int
    first: int | None = None


class Pieces:
    """Encodes texts by ``encode``, those of more than ``size`` characters piece by piece where there are ``rules``."""

    def __init__(self, encode: Callable[[list[str]], Encoded], rules: Rules | None, size: int = PIECE) -> None:
        self._encode = encode
        self._rules = rules
        self._size = size

    def encode(self, texts: list[str]) -> Encoded:
        """Ids of all texts."""
        if self._rules is None or max(map(len, texts), default=0) <= self._size:
            return self._encode(texts)
        parts: list[np.ndarray] = []
        lengths: list[np.ndarray] = []
        for group in self._groups(texts):
            found = self._whole(group[0]) if len(group[0]) > self._size else self._encode(group)
            parts.append(found.ids)
            lengths.append(np.diff(found.offsets))
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
        return Encoded(ids=np.concatenate(parts), offsets=offsets)

    def _groups(self, texts: list[str]) -> Iterator[list[str]]:
        """Every long text by itself, and those between two of them."""
        start = 0
        for place in [number for number, text in enumerate(texts) if len(text) > self._size]:
            yield from filter(None, (texts[start:place], [texts[place]]))
            start = place + 1
        if start < len(texts):
            yield texts[start:]

    def _whole(self, text: str) -> Encoded:
        ids = np.concatenate(list(self.of(text)))
        return Encoded(ids=ids, offsets=np.array([0, len(ids)]))

    def of(self, text: str) -> Iterator[np.ndarray]:
        """The ids of ``text``, uint32, by pieces of about ``size`` characters; longer ones where no cut is safe.

        Raises ``InputError`` where a piece that was given out turns out to go on.
        """
        if self._rules is None or len(text) <= self._size:
            yield self._ids(text)
            return
        run = _Run(text, self._encode, self._rules)
        cut = _Cut(at=0)
        while cut.at < len(text):
            ids, cut = run.next(cut, self._size)
            yield ids

    def _ids(self, text: str) -> np.ndarray:
        return self._encode([text]).ids


class PiecedEncoder(Encoder):
    """An encoder that encodes long texts in pieces."""

    _pieces: Pieces
    """By the fast library, or by the reference where there is none."""
    _proof: Pieces
    """By the reference."""

    def encode(self, texts: list[str]) -> Encoded:
        return self._pieces.encode(texts)

    def encode_reference(self, texts: list[str]) -> Encoded:
        return self._proof.encode(texts)

    def pieces(self, text: str) -> Iterator[np.ndarray]:
        return self._pieces.of(text)

    def reference_pieces(self, text: str) -> Iterator[np.ndarray]:
        return self._proof.of(text)


class _Run:
    """The pieces of one ``text``."""

    def __init__(self, text: str, encode: Callable[[list[str]], Encoded], rules: Rules) -> None:
        self._text = text
        self._encode = encode
        self._tokens = rules.tokens
        self._cuts = Cuts(text, rules.words, list(rules.tokens.values()))

    def next(self, begin: _Cut, size: int) -> tuple[np.ndarray, _Cut]:
        """The ids from ``begin`` to a cut about ``size`` characters later, and that cut."""
        while (end := begin.at + size) < len(self._text):
            ids = self._ids(begin.at, end)
            if begin.first in (None, ids[0]):
                for kept, cut in self._cuts_of(ids, begin.at, end):
                    return ids[:kept], cut
            size *= 2
        ids = self._ids(begin.at, len(self._text))
        if begin.first not in (None, ids[0]):
            raise InputError(
                f"a word without an end, at {self._text[begin.at : begin.at + 40]!a}, has ids that depend on more than "
                "a part of it; lower limits.document_chars of the source",
                "bad_ids",
            )
        return ids, _Cut(at=len(self._text))

    def _ids(self, start: int, end: int) -> np.ndarray:
        return self._encode([self._text[start:end]]).ids

    def _cuts_of(self, ids: np.ndarray, start: int, end: int) -> Iterator[tuple[int, _Cut]]:
        """Cuts of the text from ``start`` to ``end`` that has ``ids``, each with the number of ids before it: the end
        of an added token, the last place between words, some within words."""
        yield from self._after_token(ids, end)
        between, within = self._places(start, end)
        groups = [between] if between else []
        for group in groups + [within[at : at + TRIES] for at in range(0, len(within), TRIES)]:
            rest = self._encode([self._text[place:end] for place in group])
            for place, tail in zip(group, np.split(rest.ids, rest.offsets[1:-1]), strict=True):
                kept = len(ids) - len(tail)
                if kept > 0 and np.array_equal(ids[kept:], tail):
                    yield kept, _Cut(at=place, first=int(tail[0]) if group is not between else None)

    def _places(self, start: int, end: int) -> tuple[list[int], list[int]]:
        """The last place between words, if there is one, and places within words, from the last on."""
        within: list[int] = []
        last = end - AROUND
        for place in range(last, max(start, last - LOOK_BACK), -1):
            kind = self._cuts.at(place, start)
            if kind == "between":
                return [place], within
            if kind == "within":
                within.append(place)
            if len(within) == MOST:
                break
        return [], within

    def _after_token(self, ids: np.ndarray, end: int) -> Iterator[tuple[int, _Cut]]:
        """The end of an added token among others, shortly before ``end``. What follows it is encoded for itself; the
        very last tokens do not count, as in the whole text they might be longer ones."""
        kept, place = len(ids), end
        while kept and place > end - AROUND and int(ids[kept - 1]) in self._tokens:
            kept -= 1
            place -= len(self._tokens[int(ids[kept])])
        whole = "".join(self._tokens[int(number)] for number in ids[kept:])
        if kept and place <= end - AROUND and int(ids[kept - 1]) in self._tokens and self._text[place:end] == whole:
            yield kept, _Cut(at=place)
