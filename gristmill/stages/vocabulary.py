"""Obtain the tokenizer (copy it, or train it on the kept documents) and archive it in the work area."""

import tempfile
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gristmill import ledger, plugins, storage
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError
from gristmill.stages._training import Measured, Sample, measure, training_report
from gristmill.tokenizers.base import Encoder, Tokenizer
from gristmill.types import Artifact, StageReport, TokenizerRecord, token_dtype


def check_tokenizer(config: PrepareConfig) -> None:
    """Raises ``ConfigError`` when a tokenizer that is copied cannot be had or does not fit the formats: said before the
    corpus is cleaned."""
    config.tokenizer.check()
    config.tokenizer.sample({source.label: 0 for source in config.sources})
    if config.tokenizer.needs_documents:
        if not config.tokenizer.has_eot:
            _check_eot(config.tokenizer.kind(), None, config)
        return
    with tempfile.TemporaryDirectory(prefix="gristmill-tokenizer-") as name:
        config.tokenizer.prepare([], Path(name))
        check_formats(_record(config.tokenizer, Path(name)), config)


def vocabulary(cleaned: list[StageReport], decided: StageReport, config: PrepareConfig) -> StageReport:
    """``obtain`` a tokenizer that the formats can hold.

    Raises ``ConfigError`` when a format cannot hold the vocabulary or needs an end-of-text token that is not there.
    """
    report = obtain(cleaned, decided, config)
    check_formats(tokenizer_record(report), config)
    return report


def obtain(cleaned: list[StageReport], decided: StageReport, config: PrepareConfig) -> StageReport:
    """Write the tokenizer's files; ``details`` holds a ``TokenizerRecord`` and, by source, what a tokenizer made from
    the corpus does with it (``Measured``).

    Raises ``InputError`` when no document is left, ``ConfigError`` when too much is unknown to a trained tokenizer.
    """
    _check_left(cleaned, decided)
    determined: dict[str, Any] = {"tokenizer": config.tokenizer.identity()}
    if config.tokenizer.needs_documents:
        determined["documents"] = decided.fingerprint
    else:
        determined["source"] = config.tokenizer.source_digest()

    def produce(folder: Path, key: str) -> StageReport:
        if config.tokenizer.needs_documents:
            sample = Sample(cleaned, decided, config)
            config.tokenizer.prepare(sample, folder)
            measured = measure(config.tokenizer.load(folder), sample)
        else:
            config.tokenizer.prepare([], folder)
            measured = {}
        record = _record(config.tokenizer, folder)
        files = sorted(path for path in folder.iterdir() if path.is_file())
        artifacts = {
            path.name: Artifact(uri=str(path), sha256=storage.digest(path), nbytes=path.stat().st_size)
            for path in files
        }
        return StageReport(
            stage="vocabulary",
            shard=0,
            fingerprint=key,
            artifacts=artifacts,
            details={"record": record, "measured": measured},
        )

    return ledger.run(config.execution.work, "vocabulary", 0, determined, produce)


def _record(tokenizer: Tokenizer, folder: Path) -> TokenizerRecord:
    encoder = tokenizer.load(folder)
    return TokenizerRecord(
        kind=tokenizer.kind(),
        name=encoder.name,
        file=encoder.file,
        sha256=storage.digest(folder / encoder.file),
        vocab_size=encoder.vocab_size,
        eot_id=encoder.eot_id,
        fast_path=encoder.fast_path,
    )


def _check_left(cleaned: list[StageReport], decided: StageReport) -> None:
    if decided.docs_out:
        return
    dropped: Counter[str] = Counter()
    for report in cleaned:
        dropped.update(report.dropped)
    reasons = ", ".join(f"{reason} {count}" for reason, count in dropped.most_common()) or "the input holds none"
    raise InputError(f"no document is left to publish: {reasons}", "bad_document")


def report_of_training(report: StageReport) -> bytes | None:
    """The page about a tokenizer that was made from the corpus, as JSON; None for one that was copied."""
    measured = msgspec.convert(report.details["measured"], dict[str, Measured])
    if not measured:
        return None
    return msgspec.json.format(msgspec.json.encode(training_report(tokenizer_record(report), measured)), indent=1)


def tokenizer_record(report: StageReport) -> TokenizerRecord:
    """The record in a vocabulary report."""
    return msgspec.convert(report.details["record"], TokenizerRecord)


def encoder(report: StageReport, config: PrepareConfig) -> Encoder:
    """The archived tokenizer, loaded once per process."""
    return _load(
        Path(report.artifacts[tokenizer_record(report).file].uri).parent,
        msgspec.json.encode(config.tokenizer.settings()),
    )


@lru_cache(maxsize=2)
def _load(folder: Path, settings: bytes) -> Encoder:
    """Keyed by plain bytes: settings may hold lists, which no cache can look up."""
    tokenizer = plugins.load("tokenizers", msgspec.json.decode(settings))
    assert isinstance(tokenizer, Tokenizer)
    return tokenizer.load(folder)


def _names(dtypes: tuple[str, ...]) -> str:
    return " or ".join(np.dtype(dtype).name for dtype in dtypes)


def check_formats(record: TokenizerRecord, config: PrepareConfig) -> None:
    """Every format must be able to hold every id and to end a document as it says."""
    dtype = token_dtype(record.vocab_size)
    for format in config.formats:
        if dtype.str not in format.dtypes:
            raise ConfigError(
                f"formats: {format.kind()} holds {_names(format.dtypes)} ids, but tokenizer {record.name} goes up "
                f"to id {record.vocab_size - 1}, which needs {dtype.name}; choose another format or tokenizer"
            )
    _check_eot(record.name, record.eot_id, config)


def _check_eot(name: str, eot_id: int | None, config: PrepareConfig) -> None:
    for format in config.formats:
        if format.eot != "none" and eot_id is None:
            raise ConfigError(
                f"formats: {format.kind()} would {format.eot} an end-of-text token, and tokenizer {name} has none; "
                "set eot: none"
            )
