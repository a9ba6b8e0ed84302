"""A model of Google's ``sentencepiece``."""

import hashlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import numpy as np
from pydantic import Field

from gristmill.errors import ConfigError, InputError
from gristmill.settings import Location
from gristmill.storage import disk
from gristmill.tokenizers import _hf
from gristmill.tokenizers._needed import content, giving_up, needed
from gristmill.tokenizers.base import REFERENCE, Encoded, Encoder, Tokenizer

FILE = "tokenizer.model"


class SentencePiece(Tokenizer):
    """Exactly the ids of the ``sentencepiece`` library, which encodes them: 6 MB of text a CPU-second. The one faster
    library for such models, 1.7 times as fast, gives other ids on some documents. Control symbols are text."""

    path: Location = Field(min_length=1, description="A .model file.")
    eot: str | None = Field(None, description="Piece that ends a document; default: the model's own, mostly </s>.")

    def check(self) -> None:
        needed("sentencepiece")

    def source_digest(self) -> str:
        return hashlib.sha256(content(self.path, "a .model file")).hexdigest()

    def prepare(self, texts: Iterable[list[str]], folder: Path) -> None:
        disk.write(folder / FILE, content(self.path, "a .model file"))
        disk.write(folder / _hf.ABOUT, json.dumps({"name": self.path, "eot": self.eot}).encode())

    def load(self, folder: Path) -> Encoder:
        return SentencePieceEncoder(folder)


class SentencePieceEncoder(Encoder):
    """An archived model, without the BOS and EOS that its settings may ask for."""

    file = FILE

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / _hf.ABOUT).read_text())
        self.name = about["name"]
        library = needed("sentencepiece")
        try:
            self._model = library.SentencePieceProcessor(model_proto=(folder / FILE).read_bytes())
        except RuntimeError as error:
            raise InputError(f"tokenizer {self.name}: not a model of sentencepiece: {error}") from None
        self.vocab_size = self._model.vocab_size()
        self.eot_id = self._eot(about["eot"])
        self.unk_id = self._model.unk_id()
        control = {number for number in range(self.vocab_size) if self._model.is_control(number)}
        self.specials = {number: self._model.id_to_piece(number) for number in sorted({*control, self.eot_id})}
        self.fast_path = f"{REFERENCE}sentencepiece {version('sentencepiece')}"

    def _eot(self, piece: str | None) -> int:
        number = self._model.eos_id() if piece is None else self._model.piece_to_id(piece)
        if number < 0 or (piece is not None and self._model.id_to_piece(number) != piece):
            raise ConfigError(
                f"tokenizer {self.name}: no piece {piece or '</s>'} to end a document with; name one by eot"
            )
        return int(number)

    def encode(self, texts: list[str]) -> Encoded:
        with giving_up(self.name, texts):
            rows = [self._model.encode_as_numpy(text, add_bos=False, add_eos=False) for text in texts]
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        ids = np.concatenate([np.empty(0, np.int32), *rows]).astype(np.uint32)
        return Encoded(ids=ids, offsets=offsets)

    def decode(self, ids: np.ndarray) -> str:
        return str(self._model.decode(ids.tolist()))
