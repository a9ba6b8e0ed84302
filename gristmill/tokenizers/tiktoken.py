"""A file of ranks as OpenAI's ``tiktoken`` reads it; nothing is ever downloaded."""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import fastokens
import numpy as np
from pydantic import Field, model_validator

from gristmill.errors import ConfigError, InputError, alternatives
from gristmill.settings import Location
from gristmill.storage import disk
from gristmill.tokenizers import _hf
from gristmill.tokenizers._battery import agree
from gristmill.tokenizers._encodings import ENCODINGS
from gristmill.tokenizers._needed import content, giving_up, needed
from gristmill.tokenizers._pieces import PiecedEncoder, Pieces
from gristmill.tokenizers._rules import rules_of_ranks
from gristmill.tokenizers.base import REFERENCE, REFERENCE_PIECE, Encoded, Encoder, Tokenizer

FILE = "ranks.tiktoken"


class Tiktoken(Tokenizer):
    """Exactly the ids of ``tiktoken``'s ``encode_ordinary``. The file of ranks says neither how text is cut into words
    nor which special tokens there are: ``encoding`` names a published one whose ranks these must be, or ``pattern``
    and ``special_tokens`` give both."""

    path: Location = Field(min_length=1, description="A .tiktoken file of ranks.")
    encoding: str | None = Field(None, description=f"The encoding that the ranks are of: {', '.join(ENCODINGS)}.")
    pattern: str | None = Field(None, description="Regular expression that cuts text into words.")
    special_tokens: dict[str, int] = Field({}, description="Special tokens and their ids, with pattern.")
    eot: str = Field("<|endoftext|>", description="Token that ends a document.")

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.encoding is None) == (self.pattern is None):
            raise ConfigError("tokenizer: tiktoken takes either encoding or pattern (with special_tokens)")
        if self.encoding is not None and self.encoding not in ENCODINGS:
            raise ConfigError(
                f"tokenizer.encoding: {self.encoding!r}; {alternatives(self.encoding, ENCODINGS)}; for another one "
                "give pattern and special_tokens"
            )
        if self.encoding is not None and self.special_tokens:
            raise ConfigError("tokenizer: special_tokens go with pattern; an encoding has its own")
        return self

    def check(self) -> None:
        needed("tiktoken")

    def source_digest(self) -> str:
        return hashlib.sha256(content(self.path, "a .tiktoken file")).hexdigest()

    def prepare(self, texts: Iterable[list[str]], folder: Path) -> None:
        data = content(self.path, "a .tiktoken file")
        pattern, specials = self.pattern, self.special_tokens
        if self.encoding is not None:
            known = ENCODINGS[self.encoding]
            found = hashlib.sha256(data).hexdigest()
            if found != known.sha256:
                raise ConfigError(
                    f"tokenizer {self.path}: sha256 {found}; the ranks of {self.encoding} have {known.sha256}"
                )
            pattern, specials = known.pattern, known.special_tokens
        about = {"name": self.encoding or self.path, "pattern": pattern, "special_tokens": specials, "eot": self.eot}
        disk.write(folder / FILE, data)
        disk.write(folder / _hf.ABOUT, json.dumps(about).encode())

    def load(self, folder: Path) -> Encoder:
        return TiktokenEncoder(folder)


class TiktokenEncoder(PiecedEncoder):
    """An archived file of ranks: ``tiktoken`` is the reference, ``fastokens`` does the work where it agrees."""

    file = FILE

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / _hf.ABOUT).read_text())
        self.name = about["name"]
        specials: dict[str, int] = about["special_tokens"]
        ranks = _ranks((folder / FILE).read_bytes(), self.name)
        self._reference = _reference(self.name, about["pattern"], ranks, specials)
        self.vocab_size = max(*ranks.values(), *specials.values(), 0) + 1
        self.eot_id = specials.get(about["eot"])
        if self.eot_id is None:
            raise ConfigError(
                f"tokenizer {self.name}: no special token {about['eot']}; {alternatives(about['eot'], specials)}"
            )
        self.specials = {number: token for token, number in specials.items()}
        rules = rules_of_ranks(ranks, about["pattern"])
        self._proof = Pieces(self._referred, rules, REFERENCE_PIECE)
        fast = self._proven_fast(folder / FILE, about["pattern"], specials)
        self._pieces = self._proof if fast is None else Pieces(_hf.faster(fast, self._referred), rules)
        self.fast_path = f"fastokens {version('fastokens')}" if fast else f"{REFERENCE}tiktoken {version('tiktoken')}"

    def _proven_fast(self, path: Path, pattern: str, specials: dict[str, int]) -> Any:
        try:
            fast = fastokens.Tokenizer.from_tiktoken(str(path), pattern=pattern, special_tokens=specials)
            same = agree(lambda texts: _hf.flat(fast, texts), self.encode_reference, specials)
        except (ValueError, RuntimeError, InputError):
            return None
        return fast if same else None

    def _referred(self, texts: list[str]) -> Encoded:
        rows = [self._one(text) for text in texts]
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        return Encoded(ids=np.concatenate([np.empty(0, np.uint32), *rows]), offsets=offsets)

    def _one(self, text: str) -> np.ndarray:
        with giving_up(self.name, [text]):  # a million blanks are too many for its regular expressions
            return np.asarray(self._reference.encode_to_numpy(text, disallowed_special=()))

    def decode(self, ids: np.ndarray) -> str:
        return str(self._reference.decode(ids.tolist()))


def _ranks(data: bytes, name: str) -> dict[bytes, int]:
    ranks = {}
    for number, line in enumerate(data.splitlines(), 1):
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise InputError(
                f"tokenizer {name}: line {number} of its ranks is {line[:40]!r}; expected a base64 token and its rank"
            ) from None
    return ranks


def _reference(name: str, pattern: str, ranks: dict[bytes, int], specials: dict[str, int]) -> Any:
    try:
        return needed("tiktoken").Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)
    except (ValueError, KeyError, AssertionError) as error:
        raise InputError(f"tokenizer {name}: not ranks and a pattern that can be loaded: {error}") from None
