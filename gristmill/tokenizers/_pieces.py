"""Ids of a long text piece by piece: what a library takes for it, 50 to 200 bytes a byte, it takes for a piece."""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
from tokenizers import pre_tokenizers

from gristmill.errors import InputError
from gristmill.tokenizers._cuts import AROUND, Cuts, Words
from gristmill.tokenizers.base import Encoded
from gristmill.types import Value

PIECE = 1 << 16
"""Characters: at most 256 kB of UTF-8, of which one word takes 13 MB while it is merged."""

LOOK_BACK = 2048
"""Places before the end of a piece that are tried."""

MOST, TRIES = 256, 8
"""Places within words, all in all and at once: one in four is a boundary in most texts, of a run of "=" one in 64."""

_GPT2 = {
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
}
_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_CL100K_TIKTOKEN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
WORDS = {
    **dict.fromkeys(_GPT2, Words(digits=None, newlines="plain")),
    _CL100K.replace("DIGITS", "{1,3}"): Words(digits=3, newlines="gathered"),
    _CL100K.replace("DIGITS", ""): Words(digits=1, newlines="gathered"),
    _CL100K_TIKTOKEN: Words(digits=3, newlines="unknown"),
}
"""Expressions whose words are known: of GPT-2 and GPT-NeoX, of dolma2 and Llama 3, of Qwen; as tiktoken has them."""


BYTES = set(pre_tokenizers.ByteLevel.alphabet()) - {chr(byte) for byte in (0xC0, 0xC1, *range(0xF5, 0x100))}
"""How a byte-level vocabulary writes the bytes that UTF-8 has; GPT-NeoX lacks the others."""


class Rules(Value, frozen=True, kw_only=True):
    """How texts of one tokenizer may be cut."""

    words: Words
    tokens: dict[int, str]
    """Added tokens that are found in a text, by their ids, which nothing else has."""


class _Cut(Value, frozen=True, kw_only=True):
    """A place within a word must go on with the id ``first``: it was seen beside the last one before it."""

    at: int
    first: int | None = None


def rules_of(document: dict[str, Any]) -> Rules | None:
    """The rules for a ``tokenizer.json``; None where it is not known how its texts may be cut."""
    model, normalizer = document["model"], document.get("normalizer")
    words = WORDS.get(_expression(document.get("pre_tokenizer") or {}) or "")
    tokens = _active(document.get("added_tokens") or [])
    odd = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    if (
        words is None
        or tokens is None
        or model.get("type") != "BPE"
        or any(model.get(name) for name in odd)
        or not model["vocab"].keys() >= BYTES
        or normalizer not in (None, {"type": "NFC"})
        or _merged(model, tokens)
    ):
        return None
    if model.get("ignore_merges"):
        words = Words(digits=words.digits, newlines=words.newlines, within=False)
    return Rules(words=words, tokens=tokens)


def _active(added: list[dict[str, Any]]) -> dict[int, str] | None:
    """The added tokens that are found in a text, by id; None where they do more than stand for themselves."""
    active = [token for token in added if not token["special"]]
    texts = [token["content"] for token in active]
    for token in active:
        if token["single_word"] or token["lstrip"] or token["rstrip"]:
            return None
    if not all(text.isascii() and 0 < len(text) < AROUND for text in texts):
        return None
    if any(_overlap(token["content"], text) for token in added if token["special"] for text in texts):
        return None  # where a special token stands, no other is looked for
    return {token["id"]: token["content"] for token in active}


def _merged(model: dict[str, Any], tokens: dict[int, str]) -> bool:
    """Whether merges give the id of one of ``tokens`` too."""
    doubles = {text for text, number in model["vocab"].items() if number in tokens}
    pairs = model["merges"] if doubles else []
    return any((pair.replace(" ", "") if isinstance(pair, str) else "".join(pair)) in doubles for pair in pairs)


def _overlap(one: str, other: str) -> bool:
    """Whether a text can hold both at places that meet."""
    return (
        one in other
        or other in one
        or any(one.endswith(other[:n]) or other.endswith(one[:n]) for n in range(1, min(len(one), len(other))))
    )


def _expression(pre_tokenizer: dict[str, Any]) -> str | None:
    """The expression that cuts words for a byte-level model."""
    steps = pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    if not steps or steps[-1].get("type") != "ByteLevel" or steps[-1]["add_prefix_space"]:
        return None
    if len(steps) == 1 and steps[0].get("use_regex", True):
        return next(iter(sorted(_GPT2)))
    if len(steps) == 2 and steps[0]["type"] == "Split" and not steps[1].get("use_regex", True):
        whole = (steps[0]["behavior"], steps[0]["invert"]) in [("Removed", True), ("Isolated", False)]
        return str(steps[0]["pattern"].get("Regex")) if whole else None
    return None


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
        for long, group in groupby(texts, lambda text: len(text) > self._size):
            for found in map(self._whole, group) if long else [self._encode(list(group))]:
                parts.append(found.ids)
                lengths.append(np.diff(found.offsets))
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
        return Encoded(ids=np.concatenate(parts), offsets=offsets)

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
        """Cuts of the text from ``start`` to ``end`` that has ``ids``, each with the number of ids before it: the last
        one between words, some within words, the end of an added token."""
        between, within = self._places(start, end)
        groups = [between] if between else []
        for group in groups + [within[at : at + TRIES] for at in range(0, len(within), TRIES)]:
            rest = self._encode([self._text[place:end] for place in group])
            for place, tail in zip(group, np.split(rest.ids, rest.offsets[1:-1]), strict=True):
                kept = len(ids) - len(tail)
                if kept > 0 and np.array_equal(ids[kept:], tail):
                    yield kept, _Cut(at=place, first=int(tail[0]) if group is not between else None)
        yield from self._after_token(ids, end)

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
