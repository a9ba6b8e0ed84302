"""A byte-level BPE trained on the corpus itself."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import Field
from tokenizers import Tokenizer as Trained
from tokenizers import decoders, models, pre_tokenizers, trainers

from gristmill.tokenizers import _hf
from gristmill.tokenizers.base import Encoder, Tokenizer


class Train(Tokenizer):
    """BPE over bytes with GPT-2's pre-tokenizer, trained by the Hugging Face ``tokenizers`` library. All 256 bytes are
    in the vocabulary, so every text has ids and comes back unchanged."""

    needs_documents: ClassVar[bool] = True

    vocab_size: int = Field(
        8192, ge=257, le=2**20, description="Entries of the vocabulary, the end-of-text token included."
    )
    min_frequency: int = Field(2, ge=0, description="A pair seen less often is never merged.")
    sample_characters: int = Field(
        500_000_000, ge=1, description="Train on about this many characters, chosen by a hash of each document."
    )
    eot: str = Field("<|endoftext|>", min_length=1, description="Token that ends a document.")

    def sample(self) -> int | None:
        return self.sample_characters

    def prepare(self, texts: Iterable[list[str]], folder: Path) -> None:
        tokenizer = Trained(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocab_size,
            min_frequency=self.min_frequency,
            special_tokens=[self.eot],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(_each(texts), trainer)
        _hf.archive(folder, json.loads(tokenizer.to_str()), name=f"trained bpe {self.vocab_size}", eot=self.eot)

    def load(self, folder: Path) -> Encoder:
        return _hf.HuggingFaceEncoder(folder)


def _each(batches: Iterable[list[str]]) -> Iterator[list[str]]:
    yield from batches
