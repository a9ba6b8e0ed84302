"""A tokenizer trained on the corpus itself."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from tokenizers import Tokenizer as Trained
from tokenizers import decoders, models, pre_tokenizers, trainers

from gristmill.errors import ConfigError
from gristmill.tokenizers import _hf
from gristmill.tokenizers._bars import trained
from gristmill.tokenizers._words import without_endless_words
from gristmill.tokenizers.base import Encoder, Tokenizer

Parts = tuple[Trained, Any]

UNKNOWN = {"bpe": [], "wordpiece": ["[UNK]"], "unigram": ["<unk>"]}


class Train(Tokenizer):
    """Trained by the Hugging Face ``tokenizers`` library on a sample of the kept documents.

    ``bpe``: byte-level with GPT-2's pre-tokenizer; all 256 bytes are in the vocabulary, so every text has ids and comes
    back unchanged. ``wordpiece``: as BERT's, without lower case; it does not keep white space. ``unigram``: as in
    SentencePiece, white space kept as it stands. The last two have an unknown token.

    The same documents and settings give the same file. By ``unigram`` the library adds up in a random order and numbers
    rare characters in another: see ``settled``.
    """

    version: ClassVar[int] = 3
    needs_documents: ClassVar[bool] = True

    algorithm: Literal["bpe", "wordpiece", "unigram"] = Field("bpe", description="How the vocabulary is chosen.")
    vocab_size: int = Field(
        8192, ge=257, le=2**20, description="Entries of the vocabulary, the special tokens included."
    )
    min_frequency: int = Field(2, ge=0, description="A pair seen less often is never merged (not used by unigram).")
    sample_characters: int = Field(
        500_000_000, ge=1, description="Train on about this many characters, chosen by a hash of each document."
    )
    weights: dict[str, float] = Field(
        {}, description="Share of the sample by source; a source that has less gives all it has. Default: as they come."
    )
    seed: int = Field(0, ge=0, lt=2**64, description="Another seed gives another sample.")
    eot: str = Field("<|endoftext|>", min_length=1, description="Token that ends a document; it has id 0.")
    special_tokens: list[str] = Field([], description="More tokens that no text gives, numbered from 1.")

    @model_validator(mode="after")
    def _apart_from_text(self) -> Self:
        """No special token is the same as another, the unknown one or a character, which text would then have."""
        names = [self.eot, *self.special_tokens]
        taken = UNKNOWN[self.algorithm]
        for name in names:
            if names.count(name) > 1 or name in taken or len(name.removeprefix("##")) < 2:
                raise ConfigError(
                    f"tokenizer: {name!a} as eot or in special_tokens; expected each once, of two characters or more, "
                    f"and not the unknown token of algorithm {self.algorithm} ({', '.join(taken) or 'none'})"
                )
        return self

    def sample(self, characters: dict[str, int]) -> dict[str, float]:
        if not self.weights:
            return dict.fromkeys(characters, min(1.0, self.sample_characters / max(1, sum(characters.values()))))
        if self.weights.keys() != characters.keys() or min(self.weights.values()) < 0 or not sum(self.weights.values()):
            raise ConfigError(
                f"tokenizer.weights: {self.weights}; expected a number above 0 for each of the sources "
                f"{', '.join(characters)} (0 leaves one out)"
            )
        share = self.sample_characters / sum(self.weights.values())
        return {name: min(1.0, share * self.weights[name] / max(1, characters[name])) for name in characters}

    def sample_seed(self) -> int:
        return self.seed

    def prepare(self, texts: Iterable[list[str]], folder: Path) -> None:
        specials = [self.eot, *self.special_tokens, *UNKNOWN[self.algorithm]]
        tokenizer, trainer = {"bpe": _bpe, "wordpiece": _wordpiece, "unigram": _unigram}[self.algorithm](
            self, specials, texts
        )
        try:
            trained(lambda: tokenizer.train_from_iterator(_each(texts), trainer))
        except Exception as error:  # the library raises nothing more specific
            raise ConfigError(
                f"tokenizer.vocab_size: {self.vocab_size}, by algorithm {self.algorithm}: {error}; raise it, or choose "
                "algorithm: bpe"
            ) from None
        reached = tokenizer.get_vocab_size()
        if reached > self.vocab_size:
            raise ConfigError(
                f"tokenizer.vocab_size: {self.vocab_size} is too few for the {reached} entries that single characters "
                "and special tokens need; raise it"
            )
        document = json.loads(tokenizer.to_str())
        document["added_tokens"] = [token for token in document["added_tokens"] if token["content"] in specials]
        if self.algorithm == "unigram":
            document["model"]["vocab"] = settled(document["model"]["vocab"], len(specials))
        content = json.dumps(document, ensure_ascii=False).encode()
        _hf.archive(folder, content, name=f"trained {self.algorithm} {self.vocab_size}", eot=self.eot)

    def load(self, folder: Path) -> Encoder:
        return _hf.HuggingFaceEncoder(folder)


def _each(batches: Iterable[list[str]]) -> Iterator[list[str]]:
    for texts in batches:
        yield [without_endless_words(text) for text in texts]


def _bpe(settings: Train, specials: list[str], _: object) -> Parts:
    tokenizer = Trained(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, trainers.BpeTrainer(
        vocab_size=settings.vocab_size,
        min_frequency=settings.min_frequency,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=True,
    )


def _wordpiece(settings: Train, specials: list[str], texts: Iterable[list[str]]) -> Parts:
    """The library numbers the characters within words in the random order of a hash table, and breaks ties by number.
    Given among the special tokens they have numbers of their own; ``prepare`` takes them off that list again."""
    counts: Counter[str] = Counter()
    for batch in _each(texts):
        for text in batch:
            counts.update(text)
    usual = sorted((item for item in counts.items() if not item[0].isspace()), key=lambda item: (-item[1], item[0]))
    alphabet = sorted(character for character, _ in usual[: settings.vocab_size // 4])  # each takes two entries
    tokenizer = Trained(models.WordPiece(unk_token=specials[-1]))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer, trainers.WordPieceTrainer(
        vocab_size=settings.vocab_size,
        min_frequency=settings.min_frequency,
        special_tokens=[*specials, *(f"##{character}" for character in alphabet)],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=True,
    )


def _unigram(settings: Train, specials: list[str], _: object) -> Parts:
    tokenizer = Trained(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    return tokenizer, trainers.UnigramTrainer(
        vocab_size=settings.vocab_size, special_tokens=specials, unk_token=specials[-1], show_progress=True
    )


DECIMALS, STEP = 6, 0.0001


def settled(vocabulary: list[list[Any]], specials: int) -> list[list[Any]]:
    """The ``[piece, score]`` of a Unigram model, the first ``specials`` aside, without what is random in them.

    Sums in a random order differ in the twelfth decimal, so scores have six. Characters that were not worth a piece get
    the lowest score and one more ``STEP`` each, in the order of a hash table: here in their own order.
    """
    special, pieces = vocabulary[:specials], dict(vocabulary[specials:])
    lowest = min(pieces.values(), default=0.0)
    characters = sorted(piece for piece in pieces if len(piece) == 1)
    steps = {piece: (pieces[piece] - lowest) / STEP for piece in characters}
    rare = [piece for piece, step in steps.items() if abs(step - round(step)) < 1e-6 and round(step) < len(characters)]
    pieces |= {piece: lowest + number * STEP for number, piece in enumerate(rare)}
    scores = {piece: round(score, DECIMALS) for piece, score in pieces.items()}
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [*special, *([piece, score] for piece, score in best)]
