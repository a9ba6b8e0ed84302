"""Join the pieces of one file at its final place and count what arrived."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.errors import VerificationError
from gristmill.formats.base import Format, Packed, RowFormat
from gristmill.packing.base import RowPacking
from gristmill.processes import progress
from gristmill.stages.output.claiming import put
from gristmill.stages.output.label_masks import as_bytes, label_mask
from gristmill.stages.output.recount import BLOCK_BYTES, block_digests, recount
from gristmill.stages.output.rows import RowFile, write_rows
from gristmill.stages.tokens.tokenizer import tokenizer_record
from gristmill.storage import disk, s3_client, stores
from gristmill.storage.background import beside
from gristmill.storage.claims import Claim
from gristmill.types import Artifact, Boundary, LabelMask, PlannedFile, PublishedFile, StageReport


def upload(
    generation: int,
    file: PlannedFile,
    packed: list[StageReport],
    tokenizer: StageReport,
    claim: Claim,
    config: PrepareConfig,
) -> StageReport:
    """Publish one file and recount it from its published bytes. ``details["file"]`` is its ``PublishedFile``;
    ``details["companions"]`` maps artifacts to the names of the files that are to stand beside it;
    ``details["transfer"]`` has the ``seconds`` and ``bytes`` of putting it there and the ``retries`` of its requests.

    Raises ``VerificationError`` when the bytes hold other counts than were packed.
    """
    format = config.format(file.format)
    output = stores.at(config.destination)
    name = f"{format.kind()}/{file.path}"
    determined = {
        "pieces": [report.fingerprint for report in packed],
        "format": format.identity(),
        "path": file.path,
        "target": stores.absolute(output.where(name)),  # the receipt speaks of a file at this place
    }

    def produce(folder: Path, key: str) -> StageReport:
        whole = _packed(file, format, packed, tokenizer)
        rows = _rows(folder / "rows", whole, format, config)
        parts = [rows.path] if rows else format.parts(whole, folder)
        began, repeated = time.perf_counter(), s3_client.retries()
        artifact = put(name, parts, format.header(whole), claim, config)
        transfer = {
            "seconds": round(time.perf_counter() - began, 6),
            "bytes": artifact.nbytes,
            "retries": s3_client.retries() - repeated,
        }
        for path in parts:
            if path.is_relative_to(folder):
                disk.remove(path)  # published, and not needed again
        companions = _companions(format, whole)
        beside = {f"companion-{number}": path for number, path in enumerate(companions)}
        made = {key: _written(folder / key, companions[path]) for key, path in beside.items()}
        progress.advance(0, artifact.nbytes)
        with output.fresh(name) as path:
            counted = _counted(generation, file, format, artifact, path, packed, tokenizer, rows)
        published = msgspec.structs.replace(counted, mask=_mask(format, file.path, folder, beside))
        return StageReport(
            stage="upload",
            shard=file.index,
            fingerprint=key,
            docs_in=published.documents,
            docs_out=published.documents,
            tokens=published.tokens - published.eos,
            eos=published.eos,
            artifacts={"file": artifact, **made},
            details={
                "file": published,
                "companions": beside,
                "transfer": transfer,
                "rows": rows.account if rows else None,
            },
        )

    return ledger.run(config.execution.work, "upload", file.index, determined, produce)


def _rows(path: Path, whole: Packed, format: Format, config: PrepareConfig) -> RowFile | None:
    if not isinstance(format, RowFormat):
        return None
    assert isinstance(config.packing, RowPacking), "checked with the configuration"
    return write_rows(path, whole.ids, whole.lists, format, config.packing, whole.tokenizer)


def _packed(file: PlannedFile, format: Format, packed: list[StageReport], tokenizer: StageReport) -> Packed:
    record = tokenizer_record(tokenizer)
    return Packed(
        path=file.path,
        split=file.split,
        tokens=file.tokens,
        documents=sum(report.docs_out for report in packed),
        dtype=format.packed(record.vocab_size),
        eot=int(format.eot != "none"),
        tokenizer=record,
        ids=[stores.here(report.artifacts["tokens"]) for report in packed],
        lists=[stores.here(report.artifacts["documents"]) for report in packed],
    )


def _companions(format: Format, whole: Packed) -> dict[str, Iterator[bytes]]:
    """Everything that stands beside the file, its label mask included."""
    masks = format.masks(whole.path, whole.blocks())
    return {**format.companions(whole), **{path: as_bytes(found) for path, found in masks.items()}}


def _mask(format: Format, path: str, folder: Path, beside: dict[str, str]) -> LabelMask | None:
    """Of the file ``path``, from the bytes that lie in ``folder`` under the keys of ``beside``."""
    masks = format.masks(path, iter(()))
    found = (label_mask(folder / key, f"{format.kind()}/{name}") for key, name in beside.items() if name in masks)
    return next(found, None)


def _written(path: Path, blocks: Iterator[bytes]) -> Artifact:
    with disk.Writer(path) as out:
        for block in blocks:
            out.write(block)
    return out.artifact


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
    with beside(partial(block_digests, path), artifact.nbytes) as digests:
        found = recount(
            format.blocks(path, format.dtype(record.vocab_size)),
            eot_id=format.eot_id(record),
            eot_side=format.eot,
            boundaries=boundaries,
        )
    eos = documents if made else sum(report.details["eos"] for report in packed)
    expected = {"ids": tokens, "EOS": eos, "wrong boundaries": 0}
    counted = {"ids": found.tokens, "EOS": found.eos, "wrong boundaries": len(found.boundaries_wrong)}
    if counted != expected:
        raise VerificationError(f"{artifact.uri}: counted {counted} in the published bytes, the reports say {expected}")
    if found.max_id >= (limit := format.ids(record.vocab_size)):
        raise VerificationError(f"{artifact.uri}: id {found.max_id} in the published bytes; expected less than {limit}")
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
        blocks=digests.result(),
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
