"""The documents that a tokenizer is made from, and what the made one does with them."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import xxhash

from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.processes import progress
from gristmill.stages.dedup._kept import kept
from gristmill.stages.ingest._arrow import batches
from gristmill.text.languages import language
from gristmill.tokenizers.base import Encoder
from gristmill.types import StageReport, TokenizerRecord, Value

MEASURED = 2_000_000
"""Characters of each source, the first of its sample, on which a trained tokenizer is measured: 2 s of decoding."""

IDENTIFIED = 1024
"""Documents of each source, the first of those, whose language is asked for: 0.3 s."""

MOST_UNKNOWN = 0.01
MUCH_UNKNOWN = 0.005
"""Share of ids that say "unknown" above which a tokenizer is refused, and reported."""


class Sample:
    """Batches of texts, each time it is iterated the same ones: of each source the documents whose keyed hash falls in
    the share that the tokenizer asks for."""

    def __init__(self, cleaned: list[StageReport], decided: StageReport, config: PrepareConfig) -> None:
        self._cleaned, self._decided = cleaned, decided
        self._seed = config.tokenizer.sample_seed()
        self._sources = [_source(report) for report in cleaned]
        characters = {source.label: 0 for source in config.sources}
        for source, count in zip(self._sources, decided.details["characters"], strict=True):
            if source is not None:
                characters[source] += count
        self._shares = config.tokenizer.sample(characters)

    def __iter__(self) -> Iterator[list[str]]:
        for _, texts in self.by_source():
            yield texts

    def by_source(self) -> Iterator[tuple[str, list[str]]]:
        """Batches with the source that they are of."""
        for place, (source, report) in enumerate(zip(self._sources, self._cleaned, strict=True)):
            if source is None or not self._shares[source]:
                continue
            limit = int(self._shares[source] * 2**64)
            for batch in kept(place, report, self._decided):
                texts = batch.documents.column("text").to_pylist()
                progress.advance(len(texts), batch.documents.column("text").nbytes)
                if limit < 2**64:
                    texts = [text for text in texts if xxhash.xxh3_64_intdigest(text.encode(), self._seed) < limit]
                yield source, texts


def _source(cleaned: StageReport) -> str | None:
    """The source that all documents of a piece are of; None where there is none."""
    first = next(batches(cleaned.artifacts["documents"]), None)
    return None if first is None or not len(first) else str(first.column("source")[0].as_py())


class Measured(Value, frozen=True, kw_only=True):
    """What a trained tokenizer does with documents of one source or language."""

    documents: int = 0
    characters: int = 0
    bytes: int = 0
    tokens: int = 0
    unknown: int = 0
    changed: int = 0
    """Documents that do not come back unchanged when their ids are decoded."""

    @property
    def unknown_share(self) -> float:
        return self.unknown / max(1, self.tokens)

    def __add__(self, other: "Measured") -> "Measured":
        names = self.__struct_fields__
        return Measured(**{name: getattr(self, name) + getattr(other, name) for name in names})


class Measurements(Value, frozen=True, kw_only=True):
    """What a trained tokenizer does, looked at in two ways."""

    sources: dict[str, Measured] = msgspec.field(default_factory=dict)
    """On the first ``MEASURED`` characters of the sample of each."""
    languages: dict[str, Measured] = msgspec.field(default_factory=dict)
    """By ISO 639 code, on the first ``IDENTIFIED`` documents of each source among those."""


def measure(encoder: Encoder, sample: Sample) -> Measurements:
    """Encode and decode a part of the sample.

    Raises ``ConfigError`` when more than 1 % of the ids of a source are unknown.
    """
    found: dict[str, Measured] = {}
    languages: dict[str, Measured] = {}
    for source, texts in sample.by_source():
        before = found.setdefault(source, Measured())
        if before.characters < MEASURED:
            rows = _measured(encoder, texts)
            for text, row in zip(texts[: max(0, IDENTIFIED - before.documents)], rows, strict=False):
                code = language(text)
                languages[code] = languages.get(code, Measured()) + row
            found[source] = sum(rows, before)
    _check_unknown(encoder, found)
    return Measurements(sources=found, languages=dict(sorted(languages.items())))


def _check_unknown(encoder: Encoder, found: dict[str, Measured]) -> None:
    for source, measured in found.items():
        if measured.unknown_share > MOST_UNKNOWN:
            raise ConfigError(
                f"tokenizer {encoder.name}: {measured.unknown_share:.2%} of the ids of source {source} are unknown, "
                f"more than {MOST_UNKNOWN:.0%}; raise tokenizer.vocab_size or the weight of the source, or use "
                "algorithm: bpe"
            )


def training_report(record: TokenizerRecord, measured: Measurements) -> dict[str, Any]:
    """What there is to say of a tokenizer that was made from the corpus, JSON-able."""
    warnings = [
        f"{row.unknown_share:.2%} of the ids of source {name} are unknown"
        for name, row in measured.sources.items()
        if row.unknown_share > MUCH_UNKNOWN
    ]
    return {
        "name": record.name,
        "vocab_size": record.vocab_size,
        "eot_id": record.eot_id,
        "sha256": record.sha256,
        "sources": _rows(measured.sources),
        "languages": _rows(measured.languages),
        "warnings": warnings,
    }


def _rows(table: dict[str, Measured]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            **msgspec.structs.asdict(row),
            "bytes_per_token": round(row.bytes / max(1, row.tokens), 4),
            "unknown_share": round(row.unknown_share, 6),
        }
        for name, row in table.items()
    }


def _measured(encoder: Encoder, texts: list[str]) -> list[Measured]:
    """Each of the texts."""
    encoded = encoder.encode(texts)
    rows = np.split(encoded.ids, encoded.offsets[1:-1]) if texts else []
    return [
        Measured(
            documents=1,
            characters=len(text),
            bytes=len(text.encode()),
            tokens=len(row),
            unknown=0 if encoder.unk_id is None else int(np.count_nonzero(row == encoder.unk_id)),
            changed=int(encoder.decode(row) != text),
        )
        for row, text in zip(rows, texts, strict=True)
    ]
