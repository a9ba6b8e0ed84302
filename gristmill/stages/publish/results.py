"""The reports of a run, and the manifest that they add up to."""

from collections import Counter
from typing import Any

import msgspec

import gristmill
from gristmill.config import PrepareConfig
from gristmill.manifest import VERSION
from gristmill.stages.tokens.mix import NOT_MIXED, REPEATED, published_pieces
from gristmill.stages.tokens.tokenizer import tokenizer_record
from gristmill.storage.claims import Claim
from gristmill.types import (
    Generation,
    Layout,
    Loss,
    Manifest,
    PassedOver,
    Plan,
    PublishedFile,
    RuleRecord,
    ShardRef,
    SourceShard,
    StageReport,
    Value,
    token_dtype,
)


class Results(Value, frozen=True, kw_only=True):
    """Every report of a run. ``cleaned`` and ``tokenized`` are of the pieces in order; ``failed`` maps the index of a
    shard that was left out to the reason."""

    claim: Claim
    generation: int
    shards: list[ShardRef]
    removed: list[int]
    passed_over: list[PassedOver]
    fetched: list[StageReport]
    cleaned: list[StageReport]
    signed: list[StageReport]
    decided: StageReport
    named: list[StageReport]
    trimmed: list[StageReport]
    """One a piece, or none where no kind of span is looked for."""
    tokenizer: StageReport
    tokenized: list[StageReport]
    texts: list[StageReport]
    """The same documents as bytes of their text, for formats that hold it; empty where there is none."""
    mixed: StageReport | None
    """How often every document is published; None where nothing is mixed."""
    surveyed: StageReport
    layout: Layout
    packed: list[StageReport]
    uploaded: list[StageReport]
    failed: dict[int, str]

    def rows(self, format: str) -> list[dict[str, int]]:
        """The accounts of the packed files of one format; see ``Segments.account``."""
        reports = zip(self.layout.files, self.uploaded, strict=True)
        return [report.details["rows"] for file, report in reports if file.format == format and report.details["rows"]]


def manifest_of(files: list[PublishedFile], results: Results, losses: list[Loss], config: PrepareConfig) -> Manifest:
    """What this run made, as if nothing had been published before."""
    shards = _source_shards(results)
    record = tokenizer_record(results.tokenizer)
    dropped: Counter[str] = Counter()
    quarantined: Counter[str] = Counter()
    for shard in shards:
        dropped.update(shard.dropped)
        quarantined.update(shard.quarantined)
    compared = {
        f"documents_{name}": sum(report.details[name] for report in results.tokenized)
        for name in ("compared", "different")
    }
    return Manifest(
        manifest_version=VERSION,
        dataset=config.dataset,
        generations=[
            Generation(
                number=results.generation,
                code_version=gristmill.__version__,
                config_fingerprint=config.fingerprint(),
                shards=len(shards),
                documents=sum(shard.kept for shard in shards),
                tokens=sum(shard.tokens for shard in shards),
                removed=results.removed,
                decided=results.decided.fingerprint,
                tombstones="",
            )
        ],
        code_version=gristmill.__version__,
        config=config.settings(),
        config_fingerprint=config.fingerprint(),
        config_parts=config.parts(),
        tokenizer=msgspec.structs.replace(record, **compared),
        dtype=token_dtype(record.vocab_size).name,
        eot_side={format.kind(): format.eot for format in config.formats},
        totals={
            "input_documents": sum(shard.documents for shard in shards),
            "documents": sum(shard.kept for shard in shards),
            "tokens": sum(shard.tokens for shard in shards),
            **_totals(results),
        },
        dropped=dict(sorted(dropped.items())),
        quarantined=dict(sorted(quarantined.items())),
        sources=_sources(results),
        rules=rule_records(results),
        losses=losses,
        files=files,
        attachments=[],
        source_shards=shards,
        passed_over=results.passed_over,
    )


def _source_shards(results: Results) -> list[SourceShard]:
    fetched = {report.shard: report for report in results.fetched}
    places: dict[int, list[int]] = {}
    published = published_pieces(results.tokenized, results.mixed)
    for place, report in enumerate(results.cleaned):
        places.setdefault(report.shard, []).append(place)
    return [
        _row(shard, fetched[shard.index], places[shard.index], published, results)
        if shard.index in places
        else _left_out(shard, results.generation, results.failed[shard.index])
        for shard in results.shards
    ]


def _row(
    shard: ShardRef, read: StageReport, places: list[int], published: list[dict[str, int]], results: Results
) -> SourceShard:
    """One input shard, summed over its pieces; every document that was read is accounted for."""
    dropped: Counter[str] = Counter(read.dropped)
    quarantined: Counter[str] = Counter(read.quarantine_reasons)
    for place in places:
        dropped.update(results.cleaned[place].dropped)
        dropped.update(results.decided.details["dropped"][place])
        if results.trimmed:
            dropped.update(results.trimmed[place].dropped)
        dropped.update(results.tokenized[place].dropped)
        quarantined.update(results.tokenized[place].quarantine_reasons)
    own = [published[place] for place in places]
    if left := sum(piece.get(NOT_MIXED, 0) for piece in own):
        dropped[NOT_MIXED] = left
    kept = sum(piece["documents"] for piece in own)
    assert read.docs_in == kept + dropped.total() + quarantined.total()
    return SourceShard(
        index=shard.index,
        source=shard.source,
        uri=shard.uri,
        part=shard.part,
        identity=shard.identity,
        stored_sha256=read.details["stored_sha256"],
        generation=results.generation,
        signed=[results.signed[place].fingerprint for place in places],
        sha256=read.details["content_sha256"],
        documents=read.docs_in,
        kept=kept,
        dropped=dict(sorted(dropped.items())),
        quarantined=dict(sorted(quarantined.items())),
        tokens=sum(piece["tokens"] for piece in own),
        link=shard.link,
    )


def _left_out(shard: ShardRef, generation: int, reason: str) -> SourceShard:
    return SourceShard(
        index=shard.index,
        source=shard.source,
        uri=shard.uri,
        part=shard.part,
        identity=shard.identity,
        stored_sha256="",
        generation=generation,
        signed=[],
        sha256="",
        documents=0,
        kept=0,
        dropped={},
        quarantined={},
        tokens=0,
        error=reason,
        link=shard.link,
    )


def rule_records(results: Results) -> list[RuleRecord]:
    """The ledger of cleaning: what every rule did to every source."""
    table: dict[tuple[str, int], list[dict[str, Any]]] = {}
    tokens: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    sources = {shard.index: shard.source for shard in results.shards}
    for cleaned, tokenized in zip(results.cleaned, results.tokenized, strict=True):
        source = sources[cleaned.shard]
        tokens[source] += tokenized.tokens
        characters[source] += tokenized.chars_out
        for number, row in enumerate(cleaned.details["rules"]):
            table.setdefault((source, number), []).append(row)
    return [
        _rule_record(source, rows, tokens[source] / max(1, characters[source])) for (source, _), rows in table.items()
    ]


def _rule_record(source: str, rows: list[dict[str, Any]], tokens_a_character: float) -> RuleRecord:
    sums = {
        name: sum(row[name] for row in rows)
        for name in ("documents_in", "documents_out", "characters_in", "characters_out")
    }
    dropped: Counter[str] = Counter()
    for row in rows:
        dropped.update(row["dropped"])
    lost = sums["characters_in"] - sums["characters_out"]
    return RuleRecord(
        source=source,
        rule=rows[0]["rule"],
        **sums,
        dropped=dict(sorted(dropped.items())),
        tokens_lost=round(lost * tokens_a_character),
    )


def _totals(results: Results) -> dict[str, int]:
    """Beside what the shards add up to."""
    names = ["characters", *(REPEATED if results.mixed is not None else [])]
    pieces = published_pieces(results.tokenized, results.mixed)
    return {name: sum(piece[name] for piece in pieces) for name in names}


def _sources(results: Results) -> dict[str, dict[str, int]]:
    if results.mixed is not None:
        rows = results.mixed.details["sources"]
        return {name: row["counts"] for name, row in sorted(rows.items())}
    table: dict[str, dict[str, int]] = {}
    for report in results.tokenized:
        for name, (documents, tokens) in report.details["sources"].items():
            row = table.setdefault(name, {"documents": 0, "tokens": 0})
            row["documents"] += documents
            row["tokens"] += tokens
    return dict(sorted(table.items()))


def nothing(planned: Plan, before: Manifest) -> Manifest:
    """What a run made that found no new input, only some that is gone."""
    generation = msgspec.structs.replace(
        before.generations[-1],
        number=planned.generation,
        shards=0,
        documents=0,
        tokens=0,
        removed=planned.removed,
        decided="",
        tombstones="",
    )
    return msgspec.structs.replace(
        before,
        generations=[generation],
        tokenizer=msgspec.structs.replace(before.tokenizer, documents_compared=0),
        totals={},
        dropped={},
        quarantined={},
        sources={},
        rules=[],
        losses=[],
        files=[],
        attachments=[],
        source_shards=[],
        passed_over=planned.passed_over,
    )
