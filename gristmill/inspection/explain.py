"""What happened to one document, found out by reading its input again and applying the rules one by one."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gristmill import config as configuration
from gristmill.cleaning.base import Cleaner, Filter, Measured, Rule, verdicts
from gristmill.config import PrepareConfig
from gristmill.dedup.base import CONTAMINATED, Dedup
from gristmill.errors import InputError
from gristmill.inspection.occurrences import occurrences
from gristmill.inspection.origins import shards_of
from gristmill.manifest import read_manifest
from gristmill.sources.base import Source
from gristmill.stages.dedup.list_duplicates import REPORTED, TRIMMED
from gristmill.stages.dedup.recall import published_encoder, recalled_text
from gristmill.stages.tokens._special import SPECIAL_ID, SpecialIds
from gristmill.stages.tokens.mix import NOT_MIXED
from gristmill.storage import disk, stores
from gristmill.storage.stores import Place
from gristmill.text.whitespace import is_blank
from gristmill.types import Manifest, ShardRef, Value


class Step(Value, frozen=True, kw_only=True):
    """One rule and what it did to the document."""

    rule: str
    characters_before: int
    characters_after: int
    reason: str
    """Why it was dropped; empty when it stayed."""
    measured: dict[str, str] = msgspec.field(default_factory=dict)
    """By reason, what a filter measured of the document, and the threshold."""


class Trace(Value, frozen=True, kw_only=True):
    """The way of one document."""

    id: str
    source: str
    input: str
    """The file, or file and place of a document that was set aside."""
    steps: list[Step] = msgspec.field(default_factory=list)
    fate: str
    """``published``, or the reason for which it was dropped."""
    notes: list[str] = msgspec.field(default_factory=list)
    """What else is known of it, a line each."""
    text: str
    """As cleaned, up to where it was dropped; parts that are removed later are still in it."""
    kept_id: str = ""
    """The document that it repeats, or the evaluation text that it contains; empty when there is none."""
    kept_text: str = ""
    likeness: str = ""
    """Of a near copy, the similarity to the document that stays, and the threshold."""


NOTES = {
    REPORTED: "shares a run of words with an evaluation text: {}",
    TRIMMED: "published without those of its parts that stand in earlier places",
}
"""By the reason in the ledger of copies: documents that stay all the same."""


def trace(output: str, document: str) -> list[Trace]:
    """The input documents with this id (ids need not be unique), traced.

    Where the ledger of copies names the id, only the input shards that it tells are read, else all. Raises
    ``InputError`` when no document has the id, neither a used one nor one that was set aside.
    """
    place = stores.at(output)
    manifest = read_manifest(output)
    config = configuration.parse(manifest.config, "manifest")
    rows = _ledger(place, document)
    found = [
        traced
        for shard in shards_of(manifest, config, {row["shard"] for row in rows})
        for traced in _Tracer(place, manifest, config, shard).traces(document, rows)
    ]
    found = found or [*_quarantined(place, manifest, document), *_left_out(manifest, config, document)]
    if not found:
        unread = [shard.uri for shard in manifest.source_shards if shard.error]
        beside = f"; {len(unread)} more could not be read, {unread[0]} first" if unread else ""
        read = len(manifest.source_shards) - len(unread)
        raise InputError(f"{document!r}: no document with this id in the {read} input shards{beside}")
    return found


def _ledger(place: Place, document: str) -> list[dict[str, Any]]:
    """Rows of the ledger of copies about the document, in document order within a shard."""
    rows: list[dict[str, Any]] = []
    for name in place.names("report/duplicates"):
        rows += pq.read_table(place.path(name), filters=[("id", "==", document)]).to_pylist()
    return rows


class _Tracer:
    """Traces the documents of one input shard."""

    def __init__(self, place: Place, manifest: Manifest, config: PrepareConfig, shard: ShardRef) -> None:
        self._place = place
        self._manifest = manifest
        self._config = config
        self._shard = shard

    def traces(self, document: str, ledger: list[dict[str, Any]]) -> Iterator[Trace]:
        """Every document with the id; ``ledger`` holds the rows about it, of all shards."""
        cleaned = [self._cleaned(batch) for batch in self.batches(document)]
        standing = sum(not _reason(steps) for _, steps in cleaned)
        rows = [row for row in ledger if row["shard"] == self._shard.index]
        dropped = [row for row in rows if row["reason"] not in NOTES]
        notes = sorted({NOTES[row["reason"]].format(row["kept_id"]) for row in rows if row["reason"] in NOTES})
        if 0 < len(dropped) < standing:
            notes.append(f"{standing} documents of this shard have the id, and {len(dropped)} of them went")
            dropped = [{**row, "reason": f"published, or {row['reason']}"} for row in dropped[:1]] * standing
        left = iter(dropped)
        for batch, steps in cleaned:
            yield self._traced(batch, steps, next(left, None) if not _reason(steps) else None, notes)

    def batches(self, document: str) -> Iterator[pa.RecordBatch]:
        """A batch for each document of the shard with the id."""
        for chunk in self._config.source(self._shard.source).documents(self._shard):
            yield from _hits(chunk.documents, document)

    def text(self, document: str) -> str:
        """The cleaned text of the first document with the id."""
        for batch in self.batches(document):
            return str(self._cleaned(batch)[0].column("text")[0].as_py())
        raise InputError(f"{document!r}: not in {self._shard.uri} any more")

    def _cleaned(self, document: pa.RecordBatch) -> tuple[pa.RecordBatch, list[Step]]:
        steps: list[Step] = []
        for cleaner in self._config.rules(self._shard.source):
            document, step = _applied(cleaner, document)
            steps.append(step)
            if step.reason:
                return document, steps
        if is_blank(document.column("text")[0].as_py()):
            size = steps[-1].characters_after if steps else len(document.column("text")[0].as_py())
            steps.append(Step(rule="blank", characters_before=size, characters_after=size, reason="blank"))
        return document, steps

    def _traced(
        self, document: pa.RecordBatch, steps: list[Step], row: dict[str, Any] | None, notes: list[str]
    ) -> Trace:
        text = str(document.column("text")[0].as_py())
        fate = _reason(steps) or (row["reason"] if row else self._tokenized(text))
        if fate == "published" and self._config.mix:
            fate, notes = self._mixed(text, notes)
        return Trace(
            id=document.column("id")[0].as_py(),
            source=self._shard.source,
            input=self._shard.uri,
            steps=steps,
            fate=fate,
            notes=[] if _reason(steps) else notes,
            text=text,
            kept_id=row["kept_id"] if row else "",
            kept_text=self._kept_text(row) if row else "",
            likeness=self._likeness(row) if row else "",
        )

    def _likeness(self, row: dict[str, Any]) -> str:
        if row["similarity"] is None:
            return ""
        kinds = [kind for kind in self._config.dedup_of(Dedup).values() if kind.reason == row["reason"]]
        least = [str(found) for kind in kinds if (found := kind.least()) is not None]
        bound = f"a copy from {' or '.join(least)} on" if least else "every candidate is a copy"
        return f"similarity {row['similarity']:.3f}; {' or '.join({kind.kind() for kind in kinds})}: {bound}"

    def _mixed(self, text: str, notes: list[str]) -> tuple[str, list[str]]:
        """What mixing did to a document that stays."""
        if NOTES[TRIMMED] in notes:  # by which text it would be found is not known
            return f"published, or {NOT_MIXED}", notes
        times = occurrences(self._place.uri, self._manifest, self._shard.index, text)
        repeated = [f"published {times} times: its source is repeated to reach its share"] if times > 1 else []
        return "published" if times else NOT_MIXED, [*notes, *repeated]

    def _tokenized(self, text: str) -> str:
        """What the tokenize stage did with the text: asked where it left out any at all."""
        shards = self._manifest.source_shards
        if not any(shard.dropped.get("no_tokens") or shard.quarantined.get(SPECIAL_ID) for shard in shards):
            return "published"
        encoder = published_encoder(self._place.uri, self._manifest)
        ids = encoder.encode([text]).ids
        if SpecialIds(encoder).places(ids).size:
            return f"quarantined: {SPECIAL_ID}"
        return "published" if len(ids) else "no_tokens"

    def _kept_text(self, row: dict[str, Any]) -> str:
        """The document of this input, the line of an evaluation file or the document of earlier data."""
        if row["kept_shard"] is not None:
            for shard in shards_of(self._manifest, self._config, {row["kept_shard"]}):
                return _Tracer(self._place, self._manifest, self._config, shard).text(row["kept_id"])
            return ""  # its file is gone, or another one has its name
        if row["reason"] == CONTAMINATED:
            return _line(row["kept_id"])
        return recalled_text(row["kept_id"], [*self._config.against, self._place.uri]) if row["kept_id"] else ""


def _hits(documents: pa.RecordBatch, document: str) -> Iterator[pa.RecordBatch]:
    hits = documents.filter(pc.equal(documents.column("id"), document))
    return (hits.slice(row, 1) for row in range(len(hits)))


def _reason(steps: list[Step]) -> str:
    return steps[-1].reason if steps else ""


def _applied(cleaner: Cleaner, document: pa.RecordBatch) -> tuple[pa.RecordBatch, Step]:
    before = pc.utf8_length(document.column("text"))[0].as_py()
    reason, measured = "", dict[str, str]()
    if isinstance(cleaner, Rule):
        texts = cleaner.rewrite(document.column("text"))
        document = document.set_column(document.schema.get_field_index("text"), "text", texts)
    elif isinstance(cleaner, Filter):
        (verdict,) = verdicts([cleaner], document)
        reason = verdict.reasons[0].as_py() or ""
        measured = {name: _measured(figure) for name, figure in verdict.measured.items()}
    after = pc.utf8_length(document.column("text"))[0].as_py()
    return document, Step(
        rule=cleaner.kind(), characters_before=before, characters_after=after, reason=reason, measured=measured
    )


def _measured(figure: Measured) -> str:
    """The value of the one document, and which would keep it."""
    value = figure.values[0].item()
    if isinstance(value, bool):
        return "found" if value else "not found"
    bound = f"least {figure.least:.6g}" if figure.least is not None else f"most {figure.most or 0:.6g}"
    return f"{value:.6g}, {bound}" if value == value else f"does not apply, {bound}"


def _line(name: str) -> str:
    """The line ``<path>:<number>`` of an evaluation file; empty where it is gone."""
    path, _, number = name.rpartition(":")
    if not Path(path).is_file():
        return ""
    with disk.translated(Path(path)), Path(path).open("rb") as file:
        return next(itertools.islice(file, int(number) - 1, None), b"").decode("utf-8", "replace").strip()


def _quarantined(place: Place, manifest: Manifest, document: str) -> Iterator[Trace]:
    """Unusable documents that have the id in what is shown of them, or were named by their place in the file."""
    sources = {shard.uri: shard.source for shard in manifest.source_shards}
    quoted = msgspec.json.encode(document).decode().encode("unicode_escape").decode("ascii")
    for name in place.names("report/quarantine"):
        path = place.path(name)
        with disk.translated(path), pa.input_stream(str(path), compression="zstd") as stream:
            rows = [msgspec.json.decode(line) for line in stream.read().splitlines()]
        for row in rows:
            names = {
                f"{row['uri'].rpartition('/')[2]}:{number}" for number in (row["place"].split()[-1], row["offset"])
            }
            if quoted in row["excerpt"] or document in names:
                yield Trace(
                    id=document,
                    source=sources[row["uri"]],
                    input=f"{row['uri']}: {row['place']}",
                    fate=f"quarantined: {row['reason']}",
                    text=row["excerpt"],
                )


def _left_out(manifest: Manifest, config: PrepareConfig, document: str) -> Iterator[Trace]:
    """Documents that a sample rate or a limit left out."""
    damaged = {shard.uri for shard in manifest.source_shards if shard.error}
    for source in filter(_selects, config.sources):
        for shard in source.shards():
            for chunk in source.read(shard) if shard.uri not in damaged else []:
                for batch in _hits(chunk.documents, document):
                    yield Trace(
                        id=document,
                        source=source.label,
                        input=shard.uri,
                        fate="not_sampled",
                        text=batch.column("text")[0].as_py(),
                    )


def _selects(source: Source) -> bool:
    return source.sample_rate is not None or bool(source.limit_documents or source.limit_bytes)
