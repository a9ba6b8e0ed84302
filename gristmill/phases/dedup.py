"""Dedup: find the documents that repeat an earlier one, decide which of them go, and name them."""

from functools import partial

from msgspec.structs import replace

from gristmill.config import PrepareConfig
from gristmill.phases.ingest import Ingested
from gristmill.runners.base import Runner
from gristmill.stages.dedup.decide import decide, places_to_name
from gristmill.stages.dedup.find import find, searches
from gristmill.stages.dedup.list_duplicates import name
from gristmill.stages.dedup.recall import earlier_files, recall
from gristmill.stages.dedup.records import priorities_of, ranks_of
from gristmill.stages.dedup.spans import find_spans, kinds, settle, sign_spans, span_ranges, trim
from gristmill.stages.ingest.fetch import check_left
from gristmill.stages.ingest.generations import Earlier, earlier
from gristmill.types import StageReport, Value

MOST_NAMED = 64
"""Pieces in a call of ``name``: a second of work."""


class Deduplicated(Value, frozen=True, kw_only=True):
    """The verdict on all pieces, and the pieces that are left."""

    generation: int
    known: list[StageReport]
    """Signatures of the pieces, then those of earlier documents."""
    found: list[StageReport]
    """One report a search for copies."""
    decided: StageReport
    trimmed: list[StageReport]
    """Pieces without their repeated spans; empty where no kind of span is looked for."""
    pieces: list[StageReport]
    """The input of ``tokenize``, under the verdict ``settled``."""
    measured: list[StageReport]
    """Where the lengths of their documents are."""
    settled: StageReport
    named: list[StageReport]
    """The copies by name."""


def drop_duplicates(ingested: Ingested, config: PrepareConfig, runner: Runner) -> Deduplicated:
    """Decide on the copies of other pieces and of everything that was published before, and name them."""
    generation = ingested.plan.generation
    dropped = decide_copies(ingested, earlier(generation, config), config, runner)
    accounts = [*ingested.fetched, *ingested.cleaned, dropped.decided, *dropped.trimmed]
    check_left(generation, dropped.settled, accounts)
    return replace(dropped, named=_named(dropped, config, runner))


def decide_copies(ingested: Ingested, before: Earlier, config: PrepareConfig, runner: Runner) -> Deduplicated:
    """Fan out over the searches for copies, then over the pieces with spans that repeat; no copy has a name yet."""
    old = [*_recalled(before, config, runner), *before.signed]
    known = [*ingested.signed, *old]
    priorities = priorities_of(ingested.plan.shards, ingested.signed, old, config)
    planned = searches(known, config)
    found = runner.each(
        [partial(find, search=search, priorities=priorities, signed=known, config=config) for search in planned]
    )
    (decided,) = runner.at_once(
        partial(
            decide,
            found=found,
            kinds=[search.kind for search in planned],
            priorities=priorities,
            signed=known,
            own=len(ingested.signed),
            config=config,
        )
    )
    ranks = ranks_of(priorities)[: len(ingested.cleaned)]
    trimmed = _trimmed(ingested.cleaned, decided, ranks, config, runner) if kinds(config) else []
    return Deduplicated(
        generation=ingested.plan.generation,
        known=known,
        found=found,
        decided=decided,
        trimmed=trimmed,
        pieces=trimmed or ingested.cleaned,
        measured=trimmed or ingested.signed,
        settled=settle(trimmed, config) if trimmed else decided,
        named=[],
    )


def _recalled(before: Earlier, config: PrepareConfig, runner: Runner) -> list[StageReport]:
    """Signatures of the published files that new documents are held against."""
    files = enumerate(earlier_files(config, before.files))
    return runner.each(
        [partial(recall, output=output, path=path, number=number, config=config) for number, (output, path) in files]
    )


def _trimmed(
    cleaned: list[StageReport], decided: StageReport, ranks: list[int], config: PrepareConfig, runner: Runner
) -> list[StageReport]:
    """Sign, find and cut out the spans of kept documents that repeat earlier ones."""
    signed = runner.each(
        [
            partial(sign_spans, place=place, cleaned=piece, decided=decided, config=config)
            for place, piece in enumerate(cleaned)
        ]
    )
    count = span_ranges(signed, config)
    found = runner.each(
        [
            partial(find_spans, number=number, count=count, ranks=ranks, signed=signed, config=config)
            for number in range(count)
        ]
    )
    return runner.each(
        [
            partial(
                trim,
                place=place,
                cleaned=piece,
                decided=decided,
                rank=ranks[place],
                signed=signed[place],
                found=found,
                config=config,
            )
            for place, piece in enumerate(cleaned)
        ]
    )


def _named(dropped: Deduplicated, config: PrepareConfig, runner: Runner) -> list[StageReport]:
    """Fan out over the pieces that lost documents, some to a call."""
    places = places_to_name(dropped.decided)
    size = max(1, min(MOST_NAMED, -(-len(places) // config.execution.worker_count())))
    parts = [places[first : first + size] for first in range(0, len(places), size)]
    calls = [partial(name, places=part, decided=dropped.decided, signed=dropped.known, config=config) for part in parts]
    done = runner.each(calls, units=len(places))
    named = [report for reports in done for report in reports]
    return sorted(named, key=lambda report: (report.shard, report.piece))
