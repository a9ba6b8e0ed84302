"""Obtain the tokenizer (copy it, or train it on the kept documents) and archive it in the work area."""

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.manifest import exists, read_manifest
from gristmill.stages.tokens._training import Measurements, Sample, measure, training_report
from gristmill.storage import disk, stores
from gristmill.tokenizers._battery import check_special
from gristmill.tokenizers._loaded import loaded
from gristmill.tokenizers.base import Encoder, Tokenizer
from gristmill.types import Artifact, StageReport, TokenizerRecord, token_dtype

SPECIAL_TEXT = 2
"""Raised when text that spells a special token gets other ids: what was tokenized before is not used again."""


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
        record = _record(config.tokenizer, Path(name), _files(Path(name)))
        check_formats(record, config)
        _check_special(_load(config.tokenizer, Path(name), _files(Path(name))), config)
    if not exists(config.destination):
        return
    published = read_manifest(config.destination).tokenizer
    if published.sha256 != record.sha256:
        raise ConfigError(
            f"{config.destination} was made with {published.name} of sha256 {published.sha256}, and {record.name} now "
            f"has {record.sha256}; choose another dataset and --output"
        )


def copied(tokenizer: Tokenizer, folder: Path) -> Encoder:
    """A tokenizer that is not made from the corpus, its files in ``folder``. Raises ``ConfigError`` when it cannot be
    had."""
    tokenizer.check()
    tokenizer.prepare([], folder)
    return _load(tokenizer, folder, _files(folder))


def vocabulary(generation: int, cleaned: list[StageReport], decided: StageReport, config: PrepareConfig) -> StageReport:
    """``obtain`` a tokenizer that the formats can hold; from the second generation on that of the first.

    Raises ``ConfigError`` when a format cannot hold the vocabulary or needs an EOS that is not there, or when a text
    can have a special id.
    """
    report = obtain(cleaned, decided, config) if generation == 1 else _published(config)
    check_formats(tokenizer_record(report), config)
    _check_special(encoder(report, config), config)
    return report


def obtain(cleaned: list[StageReport], decided: StageReport, config: PrepareConfig) -> StageReport:
    """Write the tokenizer's files; ``details`` holds a ``TokenizerRecord`` and what a tokenizer made from the corpus
    does with it, ``measured`` by source and by ``languages``.

    Raises ``ConfigError`` when too much is unknown to a trained tokenizer.
    """
    determined: dict[str, Any] = {"tokenizer": config.tokenizer.identity(), "special_text": SPECIAL_TEXT}
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
            measured = Measurements()
        return _report(key, folder, measured, config)

    return ledger.run(config.execution.work, "vocabulary", 0, determined, produce)


def _published(config: PrepareConfig) -> StageReport:
    """The tokenizer that the data set was made with. Raises ``ConfigError`` when the configuration now names another
    one by the same name."""
    manifest = read_manifest(config.destination)
    determined = {
        "published": manifest.tokenizer.sha256,
        "tokenizer": config.tokenizer.identity(),
        "special_text": SPECIAL_TEXT,
    }

    def produce(folder: Path, key: str) -> StageReport:
        for path in stores.at(config.destination).folder("tokenizer").iterdir():
            disk.write(folder / path.name, path.read_bytes())
        return _report(key, folder, Measurements(), config)

    return ledger.run(config.execution.work, "vocabulary", 0, determined, produce)


def _report(key: str, folder: Path, measured: Measurements, config: PrepareConfig) -> StageReport:
    artifacts = _files(folder)
    record = _record(config.tokenizer, folder, artifacts)
    details = {"record": record, "measured": measured.sources, "languages": measured.languages}
    return StageReport(stage="vocabulary", shard=0, fingerprint=key, artifacts=artifacts, details=details)


def _files(folder: Path) -> dict[str, Artifact]:
    """What was prepared, by name."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return {path.name: Artifact(uri=str(path), sha256=disk.digest(path), nbytes=path.stat().st_size) for path in files}


def _check_special(encoder: Encoder, config: PrepareConfig) -> None:
    if config.tokenizer.on_special_id == "refuse":
        check_special(encoder)


def _record(tokenizer: Tokenizer, folder: Path, files: dict[str, Artifact]) -> TokenizerRecord:
    encoder = _load(tokenizer, folder, files)
    return TokenizerRecord(
        kind=tokenizer.kind(),
        name=encoder.name,
        file=encoder.file,
        sha256=files[encoder.file].sha256,
        vocab_size=encoder.vocab_size,
        eot_id=encoder.eot_id,
        fast_path=encoder.fast_path,
    )


def report_of_training(report: StageReport) -> bytes | None:
    """The page about a tokenizer that was made from the corpus, as JSON; None for one that was copied."""
    details = {"sources": report.details["measured"], "languages": report.details.get("languages", {})}
    measured = msgspec.convert(details, Measurements)
    if not measured.sources:
        return None
    return msgspec.json.format(msgspec.json.encode(training_report(tokenizer_record(report), measured)), indent=1)


def tokenizer_record(report: StageReport) -> TokenizerRecord:
    """The record in a vocabulary report."""
    return msgspec.convert(report.details["record"], TokenizerRecord)


def encoder(report: StageReport, config: PrepareConfig) -> Encoder:
    """The archived tokenizer."""
    files = [stores.here(artifact) for artifact in report.artifacts.values()]
    return _load(config.tokenizer, files[0].parent, report.artifacts)


def _load(tokenizer: Tokenizer, folder: Path, files: dict[str, Artifact]) -> Encoder:
    return loaded(tokenizer, folder, {name: artifact.sha256 for name, artifact in files.items()})


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
