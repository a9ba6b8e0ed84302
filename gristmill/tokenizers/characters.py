"""One id a character, as in nanoGPT's ``shakespeare_char``."""

import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import numpy as np

from gristmill.errors import InputError
from gristmill.storage import disk
from gristmill.tokenizers.base import Encoded, Encoder, Tokenizer

FILE = "characters.json"


class Characters(Tokenizer):
    """The distinct characters of the corpus in code point order, numbered from 0. There is no end-of-text token."""

    has_eot: ClassVar[bool] = False
    needs_documents: ClassVar[bool] = True

    def prepare(self, texts: Iterable[list[str]], folder: Path) -> None:
        found: set[str] = set()
        for batch in texts:
            found.update(*batch)
        characters = sorted(found)
        disk.write(folder / FILE, json.dumps(characters).encode())
        meta = {
            "vocab_size": len(characters),
            "itos": dict(enumerate(characters)),
            "stoi": {character: number for number, character in enumerate(characters)},
        }
        disk.write(folder / "meta.pkl", pickle.dumps(meta, protocol=4))  # what nanoGPT's train.py opens

    def load(self, folder: Path) -> Encoder:
        return CharacterEncoder(folder)


class CharacterEncoder(Encoder):
    """Encodes by one table look-up; a character outside the vocabulary is an error, never dropped."""

    file = FILE
    eot_id = None
    name = "characters"

    def __init__(self, folder: Path) -> None:
        self._characters: list[str] = json.loads((folder / FILE).read_text())
        self.vocab_size = len(self._characters)
        self._table = np.full(0x110000, 0xFFFFFFFF, np.uint32)
        self._table[[ord(character) for character in self._characters]] = np.arange(self.vocab_size, dtype=np.uint32)

    def encode(self, texts: list[str]) -> Encoded:
        points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
        ids = self._table[points]
        if ids.size and ids.max() == 0xFFFFFFFF:
            unknown = chr(points[ids.argmax()])
            raise InputError(f"character {unknown!r} is not in the vocabulary of {self.vocab_size}", "bad_ids")
        offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)])
        return Encoded(ids=ids, offsets=offsets)

    def decode(self, ids: np.ndarray) -> str:
        return "".join(self._characters[token] for token in ids.tolist())
