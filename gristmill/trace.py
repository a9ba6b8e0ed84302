"""What happened to one document, found out by reading its input again and applying the rules one by one."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace

from gristmill import config as configuration
from gristmill import storage
from gristmill.cleaning.base import Cleaner, Filter, Rule
from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.manifest import read_manifest
from gristmill.sources.base import Source
from gristmill.types import Manifest, ShardRef, Value


class Step(Value, frozen=True, kw_only=True):
    """One rule and what it did to the document."""

    rule: str
    characters_before: int
    characters_after: int
    reason: str
    """Why it was dropped; empty when it stayed."""


class Trace(Value, frozen=True, kw_only=True):
    """The way of one document."""

    id: str
    source: str
    input: str
    steps: list[Step]
    fate: str
    """``published``, or the reason for which it was dropped."""
    text: str
    """As cleaned, up to where it was dropped."""
    kept_id: str
    """The document that it repeats; empty when it is no copy."""
    kept_text: str


def trace(output: str, document: str) -> list[Trace]:
    """Every input document with this id (ids need not be unique), traced.

    Reads the input shards in order until the documents are found, the ones named in the ledger of copies first.
    Raises ``InputError`` when no input document has the id.
    """
    folder = storage.local(output)
    manifest = read_manifest(folder)
    config = configuration.parse(manifest.config, "manifest")
    copies = _copies(folder, document)
    found = _find(manifest, config, document, [row["shard"] for row in copies])
    if not found:
        raise InputError(f"{document!r}: no document with this id in the {len(manifest.source_shards)} input shards")
    return [_traced(place, documents, manifest, config, copies) for place, documents in found]


def _copies(folder: Path, document: str) -> list[dict[str, Any]]:
    """Rows of the ledger of copies about the document."""
    rows: list[dict[str, Any]] = []
    for path in sorted((folder / "report" / "duplicates").glob("*.parquet")):
        rows += pq.read_table(path, filters=[("id", "==", document)]).to_pylist()
    return rows


def _find(
    manifest: Manifest, config: PrepareConfig, document: str, first: list[int]
) -> list[tuple[int, pa.RecordBatch]]:
    """(input shard, one-document batch) of every document with the id; all shards are read when none is known."""
    shards = {shard.index: shard for source in config.sources for shard in _numbered(source, manifest)}
    found = []
    for number in first or sorted(shards):
        for chunk in config.source(shards[number].source).documents(shards[number]):
            hits = chunk.documents.filter(pc.equal(chunk.documents.column("id"), document))
            found += [(number, hits.slice(row, 1)) for row in range(len(hits))]
    return found


def _numbered(source: Source, manifest: Manifest) -> list[ShardRef]:
    """The source's shards with the numbers that they had in the run."""
    numbers = {(shard.source, shard.uri, str(shard.part)): shard.index for shard in manifest.source_shards}
    known = []
    for shard in source.planned():
        number = numbers.get((source.label, shard.uri, str(shard.part)))
        if number is not None:
            known.append(replace(shard, index=number))
    return known


def _traced(
    shard: int, document: pa.RecordBatch, manifest: Manifest, config: PrepareConfig, copies: list[dict[str, Any]]
) -> Trace:
    source = manifest.source_shards[shard].source
    steps: list[Step] = []
    for cleaner in config.rules(source):
        document, step = _applied(cleaner, document)
        steps.append(step)
        if step.reason:
            break
    row = next((row for row in copies if row["shard"] == shard), None)
    dropped = steps[-1].reason if steps else ""
    return Trace(
        id=document.column("id")[0].as_py(),
        source=source,
        input=manifest.source_shards[shard].uri,
        steps=steps,
        fate=dropped or (row["reason"] if row else "published"),
        text=document.column("text")[0].as_py(),
        kept_id=row["kept_id"] if row and not dropped else "",
        kept_text=_kept_text(row, manifest, config) if row and not dropped else "",
    )


def _applied(cleaner: Cleaner, document: pa.RecordBatch) -> tuple[pa.RecordBatch, Step]:
    before = pc.utf8_length(document.column("text"))[0].as_py()
    reason = ""
    if isinstance(cleaner, Rule):
        texts = cleaner.rewrite(document.column("text"))
        document = document.set_column(document.schema.get_field_index("text"), "text", texts)
    elif isinstance(cleaner, Filter):
        reason = cleaner.reasons(document)[0].as_py() or ""
    after = pc.utf8_length(document.column("text"))[0].as_py()
    return document, Step(rule=cleaner.kind(), characters_before=before, characters_after=after, reason=reason)


def _kept_text(row: dict[str, Any], manifest: Manifest, config: PrepareConfig) -> str:
    for shard, document in _find(manifest, config, row["kept_id"], [row["kept_shard"]]):
        for cleaner in config.rules(manifest.source_shards[shard].source):
            document, _ = _applied(cleaner, document)
        return str(document.column("text")[0].as_py())
    raise InputError(f"{row['kept_id']!r}: not in its input any more")
