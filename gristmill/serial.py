"""The whole job in this process, one stage after the other: for notebooks, small jobs and verification."""

from typing import Any

from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.stages.dedup.decide import decide, places_to_name
from gristmill.stages.dedup.find import find, searches
from gristmill.stages.dedup.list_duplicates import name
from gristmill.stages.dedup.recall import earlier_files, earlier_shard, recall
from gristmill.stages.dedup.records import priorities_of, ranks_of
from gristmill.stages.dedup.sign import sign
from gristmill.stages.dedup.spans import find_spans, settle, sign_spans, span_ranges, trim
from gristmill.stages.dedup.spans import kinds as span_kinds
from gristmill.stages.ingest.clean import clean
from gristmill.stages.ingest.fetch import check_left, check_quarantined, check_usable, fetch
from gristmill.stages.ingest.generations import Earlier, earlier
from gristmill.stages.ingest.plan import plan
from gristmill.stages.output.claiming import claimed
from gristmill.stages.output.layout import layout
from gristmill.stages.output.pack import pack
from gristmill.stages.output.upload import upload
from gristmill.stages.publish.publish import publish, stand
from gristmill.stages.publish.publish_tokenizer import check_trained, publish_tokenizer
from gristmill.stages.publish.rehearse import rehearsed
from gristmill.stages.publish.results import Results
from gristmill.stages.publish.survey import survey
from gristmill.stages.tokens.mix import mix
from gristmill.stages.tokens.order import order
from gristmill.stages.tokens.texts import texts
from gristmill.stages.tokens.tokenize import tokenize
from gristmill.stages.tokens.tokenizer import obtain, vocabulary
from gristmill.storage.claims import Claim
from gristmill.types import Layout, Manifest, Plan, ShardRef, StageReport, Value


class Ingested(Value, frozen=True, kw_only=True):
    """Everything up to the verdict on duplicates."""

    shards: list[ShardRef]
    fetched: list[StageReport]
    cleaned: list[StageReport]
    signed: list[StageReport]
    known: list[StageReport]
    """``signed`` and the pieces of earlier data sets."""
    decided: StageReport
    trimmed: list[StageReport]
    """Pieces without their repeated spans; empty where no kind of span is looked for."""
    settled: StageReport
    """The verdict for ``pieces``."""
    failed: dict[int, str]

    @property
    def accounts(self) -> list[StageReport]:
        """Of every document that was read and what became of it up to here."""
        return [*self.fetched, *self.cleaned, self.decided, *self.trimmed]

    @property
    def pieces(self) -> list[StageReport]:
        """What is tokenized."""
        return self.trimmed or self.cleaned

    @property
    def measured(self) -> list[StageReport]:
        """Where the lengths of the documents of ``pieces`` are."""
        return self.trimmed or self.signed


def ingest(shards: list[ShardRef], before: Earlier, config: PrepareConfig) -> Ingested:
    """Fetch, clean and sign every shard, then find the duplicates, among them and of what was there ``before``."""
    fetched: list[StageReport] = []
    cleaned: list[StageReport] = []
    signed: list[StageReport] = []
    failed: dict[int, str] = {}
    for shard in shards:
        try:
            fetched.append(fetch(shard, config))
        except InputError as error:
            if config.on_bad_file == "fail":
                raise
            failed[shard.index] = str(error)
            continue
        for piece in range(fetched[-1].details["pieces"]):
            cleaned.append(clean(shard, fetched[-1], piece, config))
            signed.append(sign(shard, cleaned[-1], config))
    check_usable(len(shards), failed)
    check_quarantined(fetched, config)
    recalled = [
        sign(earlier_shard(number), recall(output, path, number, config), config)
        for number, (output, path) in enumerate(earlier_files(config, before.files))
    ]
    old = [*recalled, *before.signed]
    known = [*signed, *old]
    planned = searches(known, config)
    priorities = priorities_of(shards, signed, old, config)
    found = [find(search, priorities, known, config) for search in planned]
    decided = decide(found, [search.kind for search in planned], priorities, known, len(signed), config)
    trimmed = _trimmed(cleaned, decided, ranks_of(priorities)[: len(cleaned)], config) if span_kinds(config) else []
    return Ingested(
        shards=shards,
        fetched=fetched,
        cleaned=cleaned,
        signed=signed,
        known=known,
        decided=decided,
        trimmed=trimmed,
        settled=settle(trimmed, config) if trimmed else decided,
        failed=failed,
    )


def _trimmed(
    cleaned: list[StageReport], decided: StageReport, ranks: list[int], config: PrepareConfig
) -> list[StageReport]:
    signed = [sign_spans(place, report, decided, config) for place, report in enumerate(cleaned)]
    count = span_ranges(signed, config)
    found = [find_spans(number, count, ranks, signed, config) for number in range(count)]
    return [
        trim(place, report, decided, ranks[place], signed[place], found, config) for place, report in enumerate(cleaned)
    ]


def spell(
    pieces: list[StageReport],
    tokenized: list[StageReport],
    settled: StageReport,
    arranged: StageReport,
    config: PrepareConfig,
) -> list[StageReport]:
    """The texts of the pieces, where a format holds text."""
    if not config.holds_text:
        return []
    pairs = zip(pieces, tokenized, strict=True)
    return [texts(place, report, settled, ids, arranged, config) for place, (report, ids) in enumerate(pairs)]


def packed(
    laid: Layout,
    tokenized: list[StageReport],
    spelled: list[StageReport],
    tokenizer: StageReport,
    mixed: StageReport | None,
    config: PrepareConfig,
) -> list[StageReport]:
    """Every piece of the files to publish."""
    return [
        pack(piece, spelled if config.format(piece.format).holds == "text" else tokenized, tokenizer, mixed, config)
        for piece in laid.pieces
    ]


def prepare(config: PrepareConfig) -> Manifest:
    """Make the data set that ``config`` describes, or rehearse it where it asks for that, and return its manifest; the
    flow gives the same bytes."""
    config.execution.apply()
    config = rehearsed(config)
    planned = plan(config)
    if not planned.shards:
        return stand(planned, config)
    with claimed(planned, config) as claim:
        return _made(planned, claim, config)


def _made(planned: Plan, claim: Claim, config: PrepareConfig) -> Manifest:
    done = ingest(planned.shards, earlier(planned.generation, config), config)
    check_left(planned.generation, done.settled, done.accounts)
    named = [name(place, done.decided, done.known, config) for place in places_to_name(done.decided)]
    tokenizer = vocabulary(planned.generation, done.pieces, done.settled, config)
    arranged = order(done.measured, done.settled, config)
    tokenized = [
        tokenize(place, report, done.settled, tokenizer, arranged, config) for place, report in enumerate(done.pieces)
    ]
    spelled = spell(done.pieces, tokenized, done.settled, arranged, config)
    mixed = mix(planned.generation, tokenized, spelled, done.measured, arranged, config) if config.mix else None
    laid = layout(planned.generation, tokenized, spelled, arranged, mixed, config)
    pieces = packed(laid, tokenized, spelled, tokenizer, mixed, config)
    uploaded = [
        upload(planned.generation, file, [pieces[number] for number in file.pieces], tokenizer, claim, config)
        for file in laid.files
    ]
    return publish(
        Results(
            claim=claim,
            generation=planned.generation,
            shards=done.shards,
            removed=planned.removed,
            passed_over=planned.passed_over,
            fetched=done.fetched,
            cleaned=done.cleaned,
            signed=done.signed,
            decided=done.decided,
            named=named,
            trimmed=done.trimmed,
            tokenizer=tokenizer,
            tokenized=tokenized,
            texts=spelled,
            mixed=mixed,
            surveyed=survey(done.cleaned, config),
            layout=laid,
            packed=pieces,
            uploaded=uploaded,
            failed=done.failed,
        ),
        config,
    )


def train_tokenizer(config: PrepareConfig) -> dict[str, Any]:
    """Train a tokenizer on what is kept of the input, publish it alone, and return what is said of it."""
    check_trained(config)
    config = rehearsed(config)
    planned = plan(config)
    done = ingest(planned.shards, earlier(planned.generation, config), config)
    check_left(planned.generation, done.settled, done.accounts)
    return publish_tokenizer(obtain(done.pieces, done.settled, config), config)
