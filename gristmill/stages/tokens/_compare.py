"""Every id within the vocabulary, every character with an id, and a sample of documents held against the reference."""

import math

import numpy as np

from gristmill.errors import InputError
from gristmill.stages.dedup._kept import Kept
from gristmill.tokenizers.base import REFERENCE, REFERENCE_PIECE, Encoded, Encoder

LEAST = 64
LONGEST = REFERENCE_PIECE
"""At least 64 documents of a piece, or all, are compared; of a longer one its first 65,536 characters. Hugging Face
``tokenizers`` takes 200 bytes of memory a byte of text, and tiktoken gives up on a million blanks in a row."""

EXCERPT = 80


class Mismatch(InputError):
    """The fast library and the reference differ; ``documents`` of the sample so far."""

    def __init__(self, message: str, documents: int) -> None:
        super().__init__(message, "bad_ids")
        self.documents = documents


def sample(documents: int, share: float, key: str) -> np.ndarray:
    """bool, ``documents`` long: ``share`` of them, rounded up, and ``LEAST`` where there are so many. ``key`` (hex
    digits) decides which, so that another content has another sample."""
    chosen = np.zeros(documents, bool)
    wanted = min(documents, max(LEAST, math.ceil(share * documents)))
    chosen[np.random.default_rng(int(key, 16)).permutation(documents)[:wanted]] = True
    return chosen


def located(error: InputError, piece: str, batch: Kept, encoder: Encoder) -> InputError:
    """The same error with the piece, and the first document of ``batch`` that cannot be encoded, if there is one."""
    for name, text in zip(*(batch.documents.column(key).to_pylist() for key in ("id", "text")), strict=True):
        try:
            encoder.encode([text])
            encoder.encode_reference([text[:LONGEST]])
        except InputError as own:
            return InputError(f"{piece}, document {name}: {own}", own.reason)
    return InputError(f"{piece}: {error}", error.reason)


class Check:
    """Looks at every batch of a piece. ``chosen``: which documents are compared with the reference, in order."""

    def __init__(self, encoder: Encoder, chosen: np.ndarray) -> None:
        self._encoder = encoder
        self._chosen = np.zeros_like(chosen) if encoder.fast_path.startswith(REFERENCE) else chosen
        self._seen = 0
        self._known: set[str] = set()
        self.compared = 0
        self.unknown = 0
        """Ids that stand for something that the vocabulary does not cover."""

    def add(self, texts: list[str], encoded: Encoded) -> None:
        """``encoded`` is without ids where those were looked at by ``ids`` before. Raises ``InputError`` also for a
        character that would be lost, ``Mismatch`` when a sampled document has other ids by the reference."""
        self.ids(encoded.ids)
        if self._encoder.drops_unknown:
            self._check_known(texts)
        chosen = np.flatnonzero(self._chosen[self._seen : self._seen + len(texts)])
        self._seen += len(texts)
        if chosen.size:
            self._compare([texts[number] for number in chosen.tolist()], chosen, encoded)

    def ids(self, ids: np.ndarray) -> None:
        """Count the unknown ones; raises ``InputError`` for one outside the vocabulary."""
        if ids.size and int(ids.max()) >= self._encoder.vocab_size:
            raise InputError(
                f"tokenizer {self._encoder.name}: id {int(ids.max())} is outside its vocabulary of "
                f"{self._encoder.vocab_size}; the tokenizer file is inconsistent",
                "bad_ids",
            )
        if self._encoder.unk_id is not None:
            self.unknown += int(np.count_nonzero(ids == self._encoder.unk_id))

    def _compare(self, texts: list[str], chosen: np.ndarray, encoded: Encoded) -> None:
        heads = [text[:LONGEST] for text in texts]
        wanted = self._encoder.encode_reference(heads)
        different: list[str] = []
        for place, (text, head, number) in enumerate(zip(texts, heads, chosen.tolist(), strict=True)):
            if len(head) < len(text) or len(encoded.ids) != encoded.offsets[-1]:
                ours = self._encoder.encode([head]).ids
            else:
                ours = encoded.ids[encoded.offsets[number] : encoded.offsets[number + 1]]
            theirs = wanted.ids[wanted.offsets[place] : wanted.offsets[place + 1]]
            if not np.array_equal(ours, theirs):
                different.append(self._difference(head, ours, theirs))
        self.compared += len(texts)
        if different:
            raise Mismatch(different[0], len(different))

    def _difference(self, text: str, ours: np.ndarray, theirs: np.ndarray) -> str:
        """Where the ids part: the text there, and the ids of both from there."""
        shorter = min(len(ours), len(theirs))
        parts = np.flatnonzero(ours[:shorter] != theirs[:shorter])
        at = int(parts[0]) if parts.size else shorter
        start = max(0, len(self._encoder.decode(theirs[:at])) - EXCERPT // 4)
        return (
            f"tokenizer {self._encoder.name}: {self._encoder.fast_path} gives other ids than the reference from id "
            f"{at} of a document on, at {text[start : start + EXCERPT]!a}: {ours[at : at + 16].tolist()} instead of "
            f"{theirs[at : at + 16].tolist()}; tokenizer.on_mismatch: fallback lets the reference encode such shards"
        )

    def _check_known(self, texts: list[str]) -> None:
        """Every character of every document must leave a trace in its ids."""
        for text in texts:
            for character in set(text) - self._known:
                if not character.isspace() and not len(self._encoder.encode_reference([character]).ids):
                    raise InputError(
                        f"tokenizer {self._encoder.name}: it has no id for {character!a} and no unknown token, so the "
                        "character would be lost; choose a tokenizer that covers the text",
                        "bad_ids",
                    )
                self._known.add(character)
