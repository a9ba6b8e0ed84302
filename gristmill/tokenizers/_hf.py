"""Encoding with a ``tokenizer.json``: Hugging Face ``tokenizers`` is the reference, ``fastokens`` does the work."""

import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fastokens
import numpy as np
from tokenizers import Tokenizer as Reference

from gristmill import storage
from gristmill.errors import ConfigError, InputError
from gristmill.tokenizers._battery import agree
from gristmill.tokenizers._pieces import PiecedEncoder, Pieces
from gristmill.tokenizers._rules import rules_of
from gristmill.tokenizers.base import REFERENCE, REFERENCE_PIECE, Encoded

FILE = "tokenizer.json"
ABOUT = "gristmill.json"
"""Beside the tokenizer: the name that was asked for and the end-of-text token."""

END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[EOS]", "<|im_end|>")
"""Looked for in this order where the configuration does not say which token ends a document."""

RARE = ["\u4e2d", "\u0e01", "\U0001f469", "\U0001d504"]
"""Characters that a tokenizer which does not cover everything is likely to lack."""


def archive(folder: Path, content: bytes, *, name: str, eot: str | None) -> None:
    """Write ``tokenizer.json`` as it stands and what we must know beside it into ``folder``."""
    storage.write(folder / FILE, content)
    storage.write(folder / ABOUT, json.dumps({"name": name, "eot": eot}).encode())


GROUP = 1 << 15


class HuggingFaceEncoder(PiecedEncoder):
    """An archived ``tokenizer.json``, loaded in the process that encodes.

    Truncation and padding stored in the file are switched off. ``encode_special_tokens`` is set here because the flag
    is lost by pickling and is not stored in the file.
    """

    file = FILE

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / ABOUT).read_text())
        document = json.loads((folder / FILE).read_bytes())
        plain = json.dumps({**document, "truncation": None, "padding": None}, ensure_ascii=False)
        self.name = about["name"]
        self._reference = _reference(plain, self.name)
        self._reference.encode_special_tokens = True
        rules = rules_of(document)
        self._proof = Pieces(self._referred, rules, REFERENCE_PIECE)
        vocabulary = self._reference.get_vocab(with_added_tokens=True)
        self.vocab_size = max(vocabulary.values()) + 1
        self.eot_id = _eot(about["eot"], vocabulary, self.name)
        self.unk_id = _unknown(document["model"], vocabulary)
        self.drops_unknown = any(not len(self.encode_reference([rare]).ids) for rare in RARE)
        fast = self._proven_fast(plain, [token["content"] for token in document.get("added_tokens") or []])
        self._pieces = self._proof if fast is None else Pieces(lambda texts: flat(fast, texts), rules)
        self.fast_path = (
            f"fastokens {version('fastokens')}" if fast else f"{REFERENCE}tokenizers {version('tokenizers')}"
        )

    def _proven_fast(self, document: str, specials: list[str]) -> Any:
        """The fast library if it loads this tokenizer and agrees on the whole battery, else None."""
        try:
            fast = fastokens.Tokenizer.from_json_str(document)
            same = agree(lambda texts: flat(fast, texts), self.encode_reference, specials)
        except (ValueError, RuntimeError):
            return None
        return fast if same else None

    def _referred(self, texts: list[str]) -> Encoded:
        assert self._reference.encode_special_tokens
        rows = [
            np.array(encoding.ids, np.uint32)
            for group in _groups(texts)
            for encoding in self._reference.encode_batch_fast(group, add_special_tokens=False)
        ]
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        ids = np.concatenate([np.empty(0, np.uint32), *rows])
        return Encoded(ids=ids, offsets=offsets)

    def decode(self, ids: np.ndarray) -> str:
        return str(self._reference.decode(ids.tolist(), skip_special_tokens=False))


def _groups(texts: list[str]) -> Iterator[list[str]]:
    """The texts in runs of ``GROUP`` characters or of one text: an encoding takes 200 bytes a byte while it lives."""
    start = length = 0
    for number, text in enumerate(texts):
        if length and length + len(text) > GROUP:
            yield texts[start:number]
            start, length = number, 0
        length += len(text)
    if start < len(texts):
        yield texts[start:]


def _reference(document: str, name: str) -> Reference:
    try:
        return Reference.from_str(document)
    except Exception as error:  # the library raises nothing more specific
        raise InputError(f"tokenizer {name}: not a tokenizer.json that can be loaded: {error}") from None


def flat(fast: Any, texts: list[str]) -> Encoded:
    """Ids of ``texts`` by a fastokens tokenizer, special-token text as ordinary text; no Python object a token."""
    ids, offsets = fast.encode_batch_flat(texts, add_special_tokens=False, split_special_tokens=True)
    return Encoded(ids=np.frombuffer(ids, np.uint32), offsets=np.frombuffer(offsets, np.uint64).astype(np.int64))


def _unknown(model: dict[str, Any], vocabulary: dict[str, int]) -> int | None:
    """The id of the unknown token, which WordPiece, WordLevel and BPE name by its text and Unigram by its id."""
    number = model.get("unk_id", vocabulary.get(model.get("unk_token") or ""))
    return None if number is None else int(number)


def _eot(token: str | None, vocabulary: dict[str, int], name: str) -> int:
    candidates = [token] if token is not None else list(END_OF_TEXT)
    for candidate in candidates:
        if candidate in vocabulary:
            return int(vocabulary[candidate])
    raise ConfigError(
        f"tokenizer {name}: no token {' or '.join(candidates)} to end a document with; name one by tokenizer.eot"
    )
