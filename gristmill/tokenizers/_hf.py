"""Encoding with a ``tokenizer.json``: Hugging Face ``tokenizers`` is the reference, ``fastokens`` does the work."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fastokens
import numpy as np
from tokenizers import Tokenizer as Reference

from gristmill import storage
from gristmill.errors import ConfigError, InputError
from gristmill.tokenizers.base import Encoded, Encoder

FILE = "tokenizer.json"
ABOUT = "gristmill.json"
"""Beside the tokenizer: the name that was asked for and the end-of-text token."""

END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[EOS]", "<|im_end|>")
"""Looked for in this order where the configuration does not say which token ends a document."""

RARE = ["\u4e2d", "\u0e01", "\U0001f469", "\U0001d504"]
"""Characters that a tokenizer which does not cover everything is likely to lack."""

PROBES = [
    "",
    " ",
    "Hello, world! I'll don't we've it's 'tis",
    "  leading and   inner \t tabs \n\n\n lines \r\n end  ",
    "<|endoftext|> <|im_end|> </s> <s> [EOS] [UNK] <unk> <pad> <|padding|>",
    "def f(x):\n    return x ** 2  # 1234567890 3.14e-10\n",
    "e\u0301 \u00e9 \ufb01 \u212b \u1e9b\u0323 \uac00 \u1100\u1161",
    "\u4e2d\u6587\u5206\u8bcd \u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2615\ufe0f \U00020000 \U000e0001 \U0010fffd",
    "\u00a0\u2003\u2028\u2029\u3000\u200b\ufeff\u0085\u000b\u000c",
    "\x00\x01\x1f\x7f\x80\x9f",
    "a" * 3000 + " " * 300 + "\n" * 100 + "=" * 500,
    "".join(map(chr, range(0x20, 0x250))),
]
"""Texts on which tokenizer libraries were seen to differ: contractions, white space runs, specials, NFC, long words."""


def archive(folder: Path, document: dict[str, Any], *, name: str, eot: str | None) -> None:
    """Write ``tokenizer.json`` and what we must know beside it into ``folder``."""
    storage.write(folder / FILE, json.dumps(document, ensure_ascii=False).encode())
    storage.write(folder / ABOUT, json.dumps({"name": name, "eot": eot}).encode())


class HuggingFaceEncoder(Encoder):
    """An archived ``tokenizer.json``, loaded in the process that encodes.

    Truncation and padding stored in the file are switched off. ``encode_special_tokens`` is set here because the flag
    is lost by pickling and is not stored in the file.
    """

    file = FILE

    def __init__(self, folder: Path) -> None:
        about = json.loads((folder / ABOUT).read_text())
        document = json.loads((folder / FILE).read_text(encoding="utf-8"))
        plain = json.dumps({**document, "truncation": None, "padding": None}, ensure_ascii=False)
        self.name = about["name"]
        self._reference = _reference(plain, self.name)
        self._reference.encode_special_tokens = True
        vocabulary = self._reference.get_vocab(with_added_tokens=True)
        self.vocab_size = max(vocabulary.values()) + 1
        self.eot_id = _eot(about["eot"], vocabulary, self.name)
        self.drops_unknown = any(not len(self.encode_reference([rare]).ids) for rare in RARE)
        self._fast = self._proven_fast(plain)
        self.fast_path = "reference" if self._fast is None else f"fastokens {version('fastokens')}"

    def _proven_fast(self, document: str) -> Any:
        """The fast library if it loads this tokenizer and agrees on every probe, else None."""
        try:
            fast = fastokens.Tokenizer.from_json_str(document)
            found = _flat(fast.encode_batch_flat(PROBES, add_special_tokens=False, split_special_tokens=True))
        except (ValueError, RuntimeError):
            return None
        wanted = self.encode_reference(PROBES)
        same = np.array_equal(found.ids, wanted.ids) and np.array_equal(found.offsets, wanted.offsets)
        return fast if same else None

    def encode(self, texts: list[str]) -> Encoded:
        if self._fast is None:
            return self.encode_reference(texts)
        return _flat(self._fast.encode_batch_flat(texts, add_special_tokens=False, split_special_tokens=True))

    def encode_reference(self, texts: list[str]) -> Encoded:
        assert self._reference.encode_special_tokens
        rows = [encoding.ids for encoding in self._reference.encode_batch_fast(texts, add_special_tokens=False)]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        ids = np.fromiter((token for row in rows for token in row), np.uint32, int(offsets[-1]))
        return Encoded(ids=ids, offsets=offsets)

    def decode(self, ids: np.ndarray) -> str:
        return str(self._reference.decode(ids.tolist(), skip_special_tokens=False))


def _reference(document: str, name: str) -> Reference:
    try:
        return Reference.from_str(document)
    except Exception as error:  # the library raises nothing more specific
        raise InputError(f"tokenizer {name}: not a tokenizer.json that can be loaded: {error}") from None


def _flat(buffers: tuple[bytes, bytes]) -> Encoded:
    ids, offsets = buffers
    return Encoded(ids=np.frombuffer(ids, np.uint32), offsets=np.frombuffer(offsets, np.uint64).astype(np.int64))


def _eot(token: str | None, vocabulary: dict[str, int], name: str) -> int:
    candidates = [token] if token is not None else list(END_OF_TEXT)
    for candidate in candidates:
        if candidate in vocabulary:
            return int(vocabulary[candidate])
    raise ConfigError(
        f"tokenizer {name}: no token {' or '.join(candidates)} to end a document with; name one by tokenizer.eot"
    )
