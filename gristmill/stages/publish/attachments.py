"""The small files of a data set: tokenizer, report, what formats put beside their shards."""

import hashlib
import itertools
from pathlib import Path

import msgspec
import pyarrow as pa

from gristmill.config import PrepareConfig
from gristmill.formats.base import DataSet
from gristmill.reporting.figures import encoded, figures_name
from gristmill.stages.ingest.clean import SAMPLES
from gristmill.stages.publish.figures import figures
from gristmill.stages.publish.rehearse import rehearsal
from gristmill.stages.publish.results import Results
from gristmill.stages.tokens.tokenizer import report_of_training
from gristmill.storage import disk, stores
from gristmill.types import Artifact, AttachedFile, Manifest, StageReport, file_name

QUARANTINE = "quarantine"
"""The artifact of documents that cannot be used, of both ``fetch`` and ``tokenize``."""

Content = list[Path] | bytes
"""What a file is to hold: bytes, or those of files of the work area."""


def attachments(results: Results, manifest: Manifest, config: PrepareConfig) -> dict[str, Content]:
    """Every further file of the generation by its path in the output; ``manifest`` lists the token files."""
    counted = figures(results, config)
    return {
        **{f"tokenizer/{name}": [stores.here(artifact)] for name, artifact in results.tokenizer.artifacts.items()},
        **_companions(results),
        **_sidecars(results, manifest, config),
        **_quarantine(results.fetched),
        **_special(results),
        **_duplicates(results),
        **_rejected(results),
        **_documents(results, config),
        **_training(results.tokenizer),
        figures_name(results.generation): encoded(counted),
        **rehearsal(results, counted, manifest, config),
    }


def attached(path: str, content: Content) -> AttachedFile:
    """The manifest's row for a further file."""
    digest, nbytes = hashlib.sha256(), 0
    for block in [content] if isinstance(content, bytes) else disk.blocks(content):
        digest.update(block)
        nbytes += len(block)
    return AttachedFile(path=path, bytes=nbytes, sha256=digest.hexdigest())


def _documents(results: Results, config: PrepareConfig) -> dict[str, Content]:
    """For each published file its documents in order, as ``DOCUMENT`` records of the input shard and the length."""
    return {
        f"documents/{file.format}/{file.path}": [
            stores.here(results.packed[number].artifacts["documents"]) for number in file.pieces
        ]
        for file in results.layout.files
        if config.format(file.format).holds != "rows"
    }


def _training(tokenizer: StageReport) -> dict[str, Content]:
    page = report_of_training(tokenizer)
    return {} if page is None else {"report/tokenizer.json": page}


def _companions(results: Results) -> dict[str, Content]:
    """What stands beside token files."""
    return {
        f"{file.format}/{name}": [stores.here(report.artifacts[key])]
        for file, report in zip(results.layout.files, results.uploaded, strict=True)
        for key, name in report.details["companions"].items()
    }


def _sidecars(results: Results, manifest: Manifest, config: PrepareConfig) -> dict[str, Content]:
    archive = next(stores.here(artifact) for artifact in results.tokenizer.artifacts.values()).parent
    found: dict[str, Content] = {}
    for format in config.formats:
        kind = format.kind()
        files = [file for file in manifest.files if file.format == kind and file.generation <= results.generation]
        about = DataSet(
            name=config.dataset,
            folder=stores.absolute(stores.at(config.destination).where(kind)),
            generation=results.generation,
            files=files,
            tokenizer=manifest.tokenizer,
            archive=archive,
        )
        found |= {f"{kind}/{name}": data for name, data in format.sidecars(about).items() if files}
    return found


def _quarantine(fetched: list[StageReport]) -> dict[str, Content]:
    return {
        f"report/quarantine/shard-{report.shard:05d}.jsonl.zst": [stores.here(report.artifacts[QUARANTINE])]
        for report in fetched
        if QUARANTINE in report.artifacts
    }


def _special(results: Results) -> dict[str, Content]:
    """What the tokenize stage quarantined, with the input named as for other documents."""
    uris = {shard.index: shard.uri for shard in results.shards}
    return {
        f"report/quarantine/{report.name}-tokens.jsonl.zst": _with_uri(uris[report.shard], report.artifacts[QUARANTINE])
        for report in results.tokenized
        if QUARANTINE in report.artifacts
    }


def _with_uri(uri: str, artifact: Artifact) -> bytes:
    rows = map(msgspec.json.decode, stores.here(artifact).read_bytes().splitlines())
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(b"".join(msgspec.json.encode({"uri": uri, **row}) + b"\n" for row in rows))
    return bytes(out.getvalue())


def _duplicates(results: Results) -> dict[str, Content]:
    named = {report.name: report.artifacts["duplicates"] for report in results.named}
    trimmed = {
        f"{report.name}-parts": report.artifacts["parts"] for report in results.trimmed if report.details["touched"]
    }
    return {
        f"report/duplicates/{name}.parquet": [stores.here(artifact)] for name, artifact in (named | trimmed).items()
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
