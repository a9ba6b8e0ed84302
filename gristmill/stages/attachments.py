"""The small files of a data set: tokenizer, report, what formats put beside their shards."""

import hashlib
import itertools
from pathlib import Path

import msgspec

from gristmill import places, storage
from gristmill.config import PrepareConfig
from gristmill.stages.clean import SAMPLES
from gristmill.stages.results import Results
from gristmill.types import AttachedFile, StageReport, file_name

Content = list[Path] | bytes
"""What a file is to hold: bytes, or those of files of the work area."""


def attachments(results: Results, config: PrepareConfig) -> dict[str, Content]:
    """Every further file of the generation by its path in the output."""
    return {
        **{f"tokenizer/{name}": [places.here(artifact)] for name, artifact in results.tokenizer.artifacts.items()},
        **_sidecars(results.tokenizer, config),
        **_quarantine(results.fetched),
        **_duplicates(results),
        **_rejected(results),
        **_documents(results, config),
    }


def attached(path: str, content: Content) -> AttachedFile:
    """The manifest's row for a further file."""
    digest, nbytes = hashlib.sha256(), 0
    for block in [content] if isinstance(content, bytes) else storage.blocks(content):
        digest.update(block)
        nbytes += len(block)
    return AttachedFile(path=path, bytes=nbytes, sha256=digest.hexdigest())


def _documents(results: Results, config: PrepareConfig) -> dict[str, Content]:
    """For each published file its documents in order, as ``DOCUMENT`` records of the input shard and the length."""
    return {
        f"documents/{file.format}/{file.path}": [
            places.here(results.packed[number].artifacts["documents"]) for number in file.pieces
        ]
        for file in results.layout.files
        if config.format(file.format).holds != "rows"
    }


def _sidecars(tokenizer: StageReport, config: PrepareConfig) -> dict[str, Content]:
    folder = next(places.here(artifact) for artifact in tokenizer.artifacts.values()).parent
    return {
        f"{format.kind()}/{name}": data for format in config.formats for name, data in format.sidecars(folder).items()
    }


def _quarantine(fetched: list[StageReport]) -> dict[str, Content]:
    return {
        f"report/quarantine/shard-{report.shard:05d}.jsonl.zst": [places.here(report.artifacts["quarantine"])]
        for report in fetched
        if "quarantine" in report.artifacts
    }


def _duplicates(results: Results) -> dict[str, Content]:
    named = {report.name: report.artifacts["duplicates"] for report in results.named}
    trimmed = {
        f"{report.name}-parts": report.artifacts["parts"] for report in results.trimmed if report.details["touched"]
    }
    return {
        f"report/duplicates/{name}.parquet": [places.here(artifact)] for name, artifact in (named | trimmed).items()
    }


def _rejected(results: Results) -> dict[str, Content]:
    """For each rule that drops documents the first few of each source and reason."""
    found: dict[str, dict[tuple[str, str], list[bytes]]] = {}
    shards = {shard.index: shard for shard in results.shards}
    for cleaned in results.cleaned:
        shard = shards[cleaned.shard]
        for row in cleaned.details["rules"]:
            for reason, samples in row["samples"].items():
                kept = found.setdefault(row["rule"], {}).setdefault((shard.source, reason), [])
                place = {"source": shard.source, "input": shard.uri, "reason": reason}
                lines = [msgspec.json.encode({**place, **sample}) for sample in samples]
                kept += lines[: SAMPLES - len(kept)]
    return {
        file_name(f"report/rejected/{rule}.jsonl", results.generation): b"\n".join(
            [*itertools.chain(*table.values()), b""]
        )
        for rule, table in found.items()
    }
