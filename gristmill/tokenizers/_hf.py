"""Encoding with a ``tokenizer.json``: Hugging Face ``tokenizers`` is the reference, ``fastokens`` does the work."""

import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fastokens
import numpy as np
from tokenizers import Tokenizer as Reference

from gristmill.errors import ConfigError, InputError
from gristmill.storage import disk
from gristmill.tokenizers._battery import Encode, agree
from gristmill.tokenizers._needed import giving_up
from gristmill.tokenizers._pieces import PiecedEncoder, Pieces
from gristmill.tokenizers._rules import rules_of
from gristmill.tokenizers._spelling import as_text
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
    disk.write(folder / FILE, content)
    disk.write(folder / ABOUT, json.dumps({"name": name, "eot": eot}).encode())


GROUP = 1 << 15


class HuggingFaceEncoder(PiecedEncoder):
    """An archived ``tokenizer.json``, loaded in the process that encodes.

    Truncation and padding stored in the file are switched off. ``encode_special_tokens`` is set here because the flag
    is lost by pickling and is not stored in the file; it keeps special tokens from being looked for in a text, and
    ``as_text`` keeps the model from making them.
    """

    file = FILE

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / ABOUT).read_text())
        document = json.loads((folder / FILE).read_bytes())
        document |= {"truncation": None, "padding": None}
        self.name = about["name"]
        self._decoder = _reference(document, self.name)
        vocabulary = self._decoder.get_vocab(with_added_tokens=True)
        self.vocab_size = max(vocabulary.values()) + 1
        eot = _eot(about["eot"], vocabulary, self.name)
        self.eot_id = vocabulary[eot]
        self.unk_id = vocabulary.get(_name_of_unknown(document["model"]))
        added = document.get("added_tokens") or []
        special = {token["content"] for token in added if token["special"]}
        self.specials = {vocabulary[token]: token for token in sorted({*special, eot})}
        if self.unk_id not in (None, self.eot_id):
            self.specials.pop(self.unk_id, None)
        meant = {eot} & {*END_OF_TEXT, *(token["content"] for token in added)}
        live = as_text(document, special | meant | {_name_of_unknown(document["model"])})
        self._reference = self._decoder if live is document else _reference(live, self.name)
        self._reference.encode_special_tokens = True
        rules = rules_of(live)
        self._proof = Pieces(self._referred, rules, REFERENCE_PIECE)
        self.drops_unknown = any(not len(self.encode_reference([rare]).ids) for rare in RARE)
        fast = self._proven_fast(live, [token["content"] for token in added])
        self._pieces = self._proof if fast is None else Pieces(faster(fast, self._referred), rules)
        self.fast_path = (
            f"fastokens {version('fastokens')}" if fast else f"{REFERENCE}tokenizers {version('tokenizers')}"
        )

    def _proven_fast(self, document: dict[str, Any], specials: list[str]) -> Any:
        """The fast library if it loads this tokenizer and agrees on the whole battery, else None."""
        try:
            fast = fastokens.Tokenizer.from_json_str(json.dumps(document, ensure_ascii=False))
            same = agree(lambda texts: flat(fast, texts), self.encode_reference, specials)
        except (ValueError, RuntimeError, InputError):
            return None
        return fast if same else None

    def _referred(self, texts: list[str]) -> Encoded:
        assert self._reference.encode_special_tokens
        rows: list[np.ndarray] = []
        for group in _groups(texts):
            with giving_up(self.name, group):
                found = self._reference.encode_batch_fast(group, add_special_tokens=False)
            rows += [np.array(encoding.ids, np.uint32) for encoding in found]
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        ids = np.concatenate([np.empty(0, np.uint32), *rows])
        return Encoded(ids=ids, offsets=offsets)

    def decode(self, ids: np.ndarray) -> str:
        return str(self._decoder.decode(ids.tolist(), skip_special_tokens=False))


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


def _reference(document: dict[str, Any], name: str) -> Reference:
    try:
        return Reference.from_str(json.dumps(document, ensure_ascii=False))
    except Exception as error:  # the library raises nothing more specific
        raise InputError(f"tokenizer {name}: not a tokenizer.json that can be loaded: {error}") from None


def faster(fast: Any, reference: Encode) -> Encode:
    """Encode by a fastokens tokenizer, and by the reference where it gives up."""

    def encode(texts: list[str]) -> Encoded:
        try:
            return flat(fast, texts)
        except (ValueError, RuntimeError):
            return reference(texts)

    return encode


def flat(fast: Any, texts: list[str]) -> Encoded:
    """Ids of ``texts`` by a fastokens tokenizer, special-token text as ordinary text; no Python object a token."""
    ids, offsets = fast.encode_batch_flat(texts, add_special_tokens=False, split_special_tokens=True)
    return Encoded(ids=np.frombuffer(ids, np.uint32), offsets=np.frombuffer(offsets, np.uint64).astype(np.int64))


def _name_of_unknown(model: dict[str, Any]) -> str:
    """The unknown token, which WordPiece, WordLevel and BPE name by its text and Unigram by its id; "" without one."""
    number = model.get("unk_id")
    return str(model["vocab"][number][0] if number is not None else model.get("unk_token") or "")


def _eot(token: str | None, vocabulary: dict[str, int], name: str) -> str:
    candidates = [token] if token is not None else list(END_OF_TEXT)
    for candidate in candidates:
        if candidate in vocabulary:
            return candidate
    raise ConfigError(
        f"tokenizer {name}: no token {' or '.join(candidates)} to end a document with; name one by tokenizer.eot"
    )
