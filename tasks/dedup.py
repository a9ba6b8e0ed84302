"""dedup: find what repeats an earlier document, decide what goes, and name it."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.dedup import decide as deciding
from gristmill.stages.dedup import find as finding
from gristmill.stages.dedup import list_duplicates as naming
from gristmill.stages.dedup import recall as recalling
from gristmill.stages.dedup import spans
from gristmill.stages.dedup.records import priorities_of, ranks_of
from gristmill.stages.ingest import generations
from gristmill.stages.ingest.fetch import check_left
from gristmill.types import Search, StageReport, Value
from tasks.ingest import Ingested
from tasks.run import OPTIONS, Reports, in_worker, watch
from tasks.spread import all_done

MOST_NAMED = 64
"""Pieces a task run of ``name``: a second of work."""


class Deduplicated(Value, frozen=True, kw_only=True):
    """The verdict on all pieces, the copies by name, and what is left to be tokenized."""

    generation: int
    found: list[StageReport]
    """What each search for copies gave."""
    decided: StageReport
    named: list[StageReport]
    trimmed: list[StageReport]
    """Pieces without their repeated spans; empty where no kind of span is looked for."""
    pieces: list[StageReport]
    """What is tokenized, under the verdict ``settled``."""
    measured: list[StageReport]
    """Where the lengths of their documents are."""
    settled: StageReport


@task(name="find", task_run_name="find-{search.index:05d}", **OPTIONS)
def find(search: Search, priorities: list[int], signed: Reports, config: PrepareConfig) -> StageReport:
    """The pairs of copies that one search finds in all pieces."""
    return in_worker("find", finding.find, config, search=search, priorities=priorities, signed=signed.reports)


@task(name="decide", task_run_name="decide", **OPTIONS)
def decide(
    found: Reports,
    kinds: list[int],
    priorities: list[int],
    signed: Reports,
    own: int,
    config: PrepareConfig,
) -> StageReport:
    """Settle which copies go; one verdict for every piece."""
    return in_worker(
        "decide",
        deciding.decide,
        config,
        found=found.reports,
        kinds=kinds,
        priorities=priorities,
        signed=signed.reports,
        own=own,
    )


@task(name="name", task_run_name="name-{number:05d}", **OPTIONS)
def name(
    number: int,  # noqa: ARG001  names the task run
    places: list[int],
    decided: StageReport,
    signed: Reports,
    config: PrepareConfig,
) -> list[StageReport]:
    """Which document each dropped one of some pieces repeats: too little work for a task run a piece."""
    return in_worker("name", naming.name, config, places=places, decided=decided, signed=signed.reports)


def drop_duplicates(ingested: Ingested, config: PrepareConfig) -> Deduplicated:
    """Fan out over the searches, decide, and name what was dropped."""
    earlier = sign_earlier(ingested.plan.generation, config)
    signed = Reports(reports=[*ingested.signed, *earlier])
    priorities = priorities_of(ingested.plan.shards, ingested.signed, earlier, config)
    planned = finding.searches(signed.reports, config)
    if planned:
        watch.board.begin("find", len(planned))
    watch.board.begin("decide", 1)
    calls = [{"search": search, "priorities": priorities, "signed": signed, "config": config} for search in planned]
    found = Reports(reports=all_done(find, calls, config))
    kinds = [search.kind for search in planned]
    decided = decide(found, kinds, priorities, signed, len(ingested.signed), config)
    named = name_copies(decided, signed, config)
    trimmed = drop_spans(ingested.cleaned, decided, ranks_of(priorities)[: len(ingested.cleaned)], config)
    settled = spans.settle(trimmed, config) if trimmed else decided
    check_left(ingested.plan.generation, settled, [*ingested.fetched, *ingested.cleaned, decided, *trimmed])
    return Deduplicated(
        generation=ingested.plan.generation,
        found=found.reports,
        decided=decided,
        named=named,
        trimmed=trimmed,
        pieces=trimmed or ingested.cleaned,
        measured=trimmed or ingested.signed,
        settled=settled,
    )


@task(name="sign_spans", task_run_name="sign-spans-{cleaned.name}", **OPTIONS)
def sign_spans(place: int, cleaned: StageReport, decided: StageReport, config: PrepareConfig) -> StageReport:
    """Signatures of the paragraphs or sentences of a piece."""
    return in_worker("sign_spans", spans.sign_spans, config, place=place, cleaned=cleaned, decided=decided)


@task(name="find_spans", task_run_name="find-spans-{number:05d}", **OPTIONS)
def find_spans(number: int, count: int, ranks: list[int], signed: Reports, config: PrepareConfig) -> StageReport:
    """The spans of one key range that stand earlier already."""
    return in_worker(
        "find_spans", spans.find_spans, config, number=number, count=count, ranks=ranks, signed=signed.reports
    )


@task(name="trim", task_run_name="trim-{cleaned.name}", **OPTIONS)
def trim(
    place: int,
    cleaned: StageReport,
    decided: StageReport,
    rank: int,
    signed: StageReport,
    found: Reports,
    config: PrepareConfig,
) -> StageReport:
    """A piece without its repeated spans."""
    return in_worker(
        "trim",
        spans.trim,
        config,
        place=place,
        cleaned=cleaned,
        decided=decided,
        rank=rank,
        signed=signed,
        found=found.reports,
    )


@task(name="recall", task_run_name="recall-{number:05d}", **OPTIONS)
def recall(output: str, path: str, number: int, config: PrepareConfig) -> StageReport:
    """A published file of an earlier data set, signed."""
    return in_worker("recall", recalling.recall, config, output=output, path=path, number=number)


def sign_earlier(generation: int, config: PrepareConfig) -> list[StageReport]:
    """Signatures of what new documents are held against: published files, and earlier generations."""
    before = generations.earlier(generation, config)
    calls = [
        {"output": output, "path": path, "number": number, "config": config}
        for number, (output, path) in enumerate(recalling.earlier_files(config, before.files))
    ]
    if calls:
        watch.board.begin("recall", len(calls))
    return [*all_done(recall, calls, config), *before.signed]


def drop_spans(
    cleaned: list[StageReport], decided: StageReport, ranks: list[int], config: PrepareConfig
) -> list[StageReport]:
    """Sign, find and trim repeated spans of the kept documents; nothing where no kind of span is looked for."""
    if not spans.kinds(config):
        return []
    pieces = [
        {"place": place, "cleaned": report, "decided": decided, "config": config}
        for place, report in enumerate(cleaned)
    ]
    watch.board.begin("sign_spans", len(pieces))
    signed = all_done(sign_spans, pieces, config)
    count = spans.span_ranges(signed, config)
    common = {"count": count, "ranks": ranks, "signed": Reports(reports=signed), "config": config}
    watch.board.begin("find_spans", count)
    found = Reports(reports=all_done(find_spans, [{"number": number, **common} for number in range(count)], config))
    watch.board.begin("trim", len(pieces))
    calls = [
        {**piece, "rank": ranks[place], "signed": signed[place], "found": found} for place, piece in enumerate(pieces)
    ]
    return all_done(trim, calls, config)


def name_copies(decided: StageReport, signed: Reports, config: PrepareConfig) -> list[StageReport]:
    """Fan out over the pieces that lost documents, some to a task run."""
    places = deciding.places_to_name(decided)
    if places:
        watch.board.begin("name", len(places))
    size = min(MOST_NAMED, -(-len(places) // config.execution.worker_count()))
    common = {"decided": decided, "signed": signed, "config": config}
    calls = [
        {"number": number, "places": places[first : first + size], **common}
        for number, first in enumerate(range(0, len(places), size or 1))
    ]
    named = [report for reports in all_done(name, calls, config) for report in reports]
    return sorted(named, key=lambda report: (report.shard, report.piece))
