"""One id a byte of UTF-8."""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from gristmill.storage import disk
from gristmill.tokenizers.base import Encoded, Encoder, Tokenizer

FILE = "bytes.json"
EOT = 256


class Bytes(Tokenizer):
    """The bytes of the text as ids 0 to 255, and 256 for the end of a document. Nothing has to be had or trained."""

    def source_digest(self) -> str:
        return "bytes"

    def prepare(self, texts: Iterable[list[str]], folder: Path) -> None:
        disk.write(folder / FILE, json.dumps({"vocab_size": EOT + 1, "eot_id": EOT}).encode())

    def load(self, folder: Path) -> Encoder:
        return ByteEncoder()


class ByteEncoder(Encoder):
    """Encodes by looking at the bytes."""

    file = FILE
    name = "bytes"
    vocab_size = EOT + 1
    eot_id = EOT

    def encode(self, texts: list[str]) -> Encoded:
        data = [text.encode() for text in texts]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in data], dtype=np.int64)])
        return Encoded(ids=np.frombuffer(b"".join(data), np.uint8).astype(np.uint32), offsets=offsets)

    def decode(self, ids: np.ndarray) -> str:
        parts = np.split(ids, np.flatnonzero(ids == EOT))
        return "<|endoftext|>".join(
            part[part < EOT].astype(np.uint8).tobytes().decode(errors="replace") for part in parts
        )
