"""Join the pieces of one file at its final place and count what arrived."""

from pathlib import Path
from typing import Any

import msgspec

from gristmill import ledger, places, progress
from gristmill.config import PrepareConfig
from gristmill.errors import VerificationError
from gristmill.formats.base import Format, OutputFile
from gristmill.formats.parquet_rows import ParquetRows
from gristmill.packing.base import RowPacking
from gristmill.recount import BLOCK_BYTES, block_digests, recount
from gristmill.stages.generations import put
from gristmill.stages.rows import RowFile, write_rows
from gristmill.stages.vocabulary import tokenizer_record
from gristmill.types import Artifact, Boundary, PlannedFile, PublishedFile, StageReport, token_dtype


def upload(
    generation: int, file: PlannedFile, packed: list[StageReport], tokenizer: StageReport, config: PrepareConfig
) -> StageReport:
    """Publish one file and recount it from its published bytes. ``details["file"]`` is its ``PublishedFile``.

    Raises ``VerificationError`` when the bytes hold other counts than were packed.
    """
    format = config.format(file.format)
    output = places.at(config.destination)
    name = f"{format.kind()}/{file.path}"
    determined = {
        "pieces": [report.fingerprint for report in packed],
        "format": format.identity(),
        "path": file.path,
        "target": places.absolute(output.where(name)),  # the receipt speaks of a file at this place
    }

    def produce(folder: Path, key: str) -> StageReport:
        dtype = token_dtype(tokenizer_record(tokenizer).vocab_size)
        header = format.header(OutputFile(path=file.path, split=file.split, start=0, stop=file.tokens), dtype)
        parts = [places.here(report.artifacts["tokens"]) for report in packed]
        made = _rows(folder / "rows", parts, packed, format, tokenizer, config)
        artifact = put(name, [made.path] if made else parts, header, config)
        if made:
            made.path.unlink()
        progress.advance(0, artifact.nbytes)
        with output.fresh(name) as path:
            published = _counted(generation, file, format, artifact, path, packed, tokenizer, made)
        return StageReport(
            stage="upload",
            shard=file.index,
            fingerprint=key,
            docs_in=published.documents,
            docs_out=published.documents,
            tokens=published.tokens - published.eos,
            eos=published.eos,
            artifacts={"file": artifact},
            details={"file": published, "rows": made.account if made else None},
        )

    return ledger.run(config.execution.work, "upload", file.index, determined, produce)


def _rows(
    path: Path,
    tokens: list[Path],
    packed: list[StageReport],
    format: Format,
    tokenizer: StageReport,
    config: PrepareConfig,
) -> RowFile | None:
    if not isinstance(format, ParquetRows):
        return None
    assert isinstance(config.packing, RowPacking), "checked with the configuration"
    documents = [places.here(report.artifacts["documents"]) for report in packed]
    return write_rows(path, tokens, documents, format, config.packing, tokenizer_record(tokenizer))


def _counted(
    generation: int,
    file: PlannedFile,
    format: Format,
    artifact: Artifact,
    path: Path,
    packed: list[StageReport],
    tokenizer: StageReport,
    made: RowFile | None,
) -> PublishedFile:
    record = tokenizer_record(tokenizer)
    documents = made.documents if made else sum(report.docs_out for report in packed)
    boundaries = made.boundaries if made else _boundaries(packed)
    tokens = made.account["placed"] if made else file.tokens
    found = recount(
        format.blocks(path, token_dtype(record.vocab_size)),
        eot_id=record.eot_id,
        eot_side=format.eot,
        boundaries=boundaries,
    )
    expected = {"ids": tokens, "EOS": documents if format.eot != "none" else found.eos, "wrong boundaries": 0}
    counted = {"ids": found.tokens, "EOS": found.eos, "wrong boundaries": len(found.boundaries_wrong)}
    if counted != expected:
        raise VerificationError(f"{artifact.uri}: counted {counted} in the published bytes, the reports say {expected}")
    if found.max_id >= record.vocab_size:
        raise VerificationError(
            f"{artifact.uri}: id {found.max_id} in the published bytes; expected less than {record.vocab_size}"
        )
    return PublishedFile(
        path=f"{file.format}/{file.path}",
        format=file.format,
        split=file.split,
        generation=generation,
        bytes=artifact.nbytes,
        sha256=artifact.sha256,
        documents=documents,
        tokens=found.tokens,
        eos=found.eos,
        max_id=found.max_id,
        block_bytes=BLOCK_BYTES,
        blocks=block_digests(path),
        boundaries=boundaries,
    )


def _boundaries(packed: list[StageReport]) -> list[Boundary]:
    """The pieces' boundaries, relative to the file."""
    found: list[Boundary] = []
    documents = tokens = 0
    for report in packed:
        for boundary in msgspec.convert(report.details["boundaries"], list[Boundary]):
            found.append(Boundary(document=documents + boundary.document, token=tokens + boundary.token))
        documents += report.docs_out
        tokens += report.tokens
    return found


def published_file(report: StageReport) -> PublishedFile:
    """The file in an upload report."""
    details: dict[str, Any] = report.details
    return msgspec.convert(details["file"], PublishedFile)
