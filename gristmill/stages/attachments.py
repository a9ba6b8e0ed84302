"""The small files of a data set: tokenizer, report, what formats put beside their shards."""

import hashlib
import itertools
from pathlib import Path

import msgspec

from gristmill import storage
from gristmill.config import PrepareConfig
from gristmill.reporting.summary import summary
from gristmill.stages.clean import SAMPLES
from gristmill.stages.results import Results
from gristmill.stages.vocabulary import report_of_training
from gristmill.types import AttachedFile, Manifest, StageReport


def attachments(results: Results, config: PrepareConfig, manifest: Manifest) -> dict[str, Path | bytes]:
    """Every small file by its path in the output: its bytes, or the file of the work area that holds them."""
    return {
        **{f"tokenizer/{name}": Path(artifact.uri) for name, artifact in results.tokenizer.artifacts.items()},
        **_sidecars(results.tokenizer, config),
        **_quarantine(results.fetched),
        **_duplicates(results),
        **_rejected(results),
        **_training(results.tokenizer),
        "report/summary.md": summary(manifest).encode(),
    }


def attached(path: str, content: Path | bytes) -> AttachedFile:
    """The manifest's row for a small file."""
    if isinstance(content, Path):
        return AttachedFile(path=path, bytes=content.stat().st_size, sha256=storage.digest(content))
    return AttachedFile(path=path, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def _training(tokenizer: StageReport) -> dict[str, Path | bytes]:
    page = report_of_training(tokenizer)
    return {} if page is None else {"report/tokenizer.json": page}


def _sidecars(tokenizer: StageReport, config: PrepareConfig) -> dict[str, Path | bytes]:
    folder = Path(next(iter(tokenizer.artifacts.values())).uri).parent
    return {
        f"{format.kind()}/{name}": data for format in config.formats for name, data in format.sidecars(folder).items()
    }


def _quarantine(fetched: list[StageReport]) -> dict[str, Path | bytes]:
    return {
        f"report/quarantine/shard-{report.shard:05d}.jsonl.zst": Path(report.artifacts["quarantine"].uri)
        for report in fetched
        if "quarantine" in report.artifacts
    }


def _duplicates(results: Results) -> dict[str, Path | bytes]:
    named = {report.name: report.artifacts["duplicates"] for report in results.named}
    trimmed = {
        f"{report.name}-parts": report.artifacts["parts"] for report in results.trimmed if report.details["touched"]
    }
    return {f"report/duplicates/{name}.parquet": Path(artifact.uri) for name, artifact in {**named, **trimmed}.items()}


def _rejected(results: Results) -> dict[str, Path | bytes]:
    """For each rule that drops documents the first few of each source and reason."""
    found: dict[str, dict[tuple[str, str], list[bytes]]] = {}
    for cleaned in results.cleaned:
        shard = results.shards[cleaned.shard]
        for row in cleaned.details["rules"]:
            for reason, samples in row["samples"].items():
                kept = found.setdefault(row["rule"], {}).setdefault((shard.source, reason), [])
                place = {"source": shard.source, "input": shard.uri, "reason": reason}
                lines = [msgspec.json.encode({**place, **sample}) for sample in samples]
                kept += lines[: SAMPLES - len(kept)]
    return {
        f"report/rejected/{rule}.jsonl": b"\n".join([*itertools.chain(*table.values()), b""])
        for rule, table in found.items()
    }
