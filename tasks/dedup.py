"""dedup: sign every piece, find what repeats an earlier document, and name it."""

from typing import TYPE_CHECKING

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages import decide as deciding
from gristmill.stages import find as finding
from gristmill.stages import name as naming
from gristmill.stages import sign as signing
from gristmill.stages.records import ranks_of
from gristmill.types import Search, ShardRef, StageReport, Value
from tasks.run import OPTIONS, each, in_worker, raise_failed, watch

if TYPE_CHECKING:
    from tasks.ingest import Ingested


class Reports(Value, frozen=True, kw_only=True):
    """Many reports as one value: Prefect walks through lists of parameters, and a long one would cost seconds."""

    reports: list[StageReport]


class Deduplicated(Value, frozen=True, kw_only=True):
    """The verdict on all pieces, and the copies by name of those that have any."""

    decided: StageReport
    named: list[StageReport]


@task(name="sign", task_run_name="sign-{cleaned.name}", tags={"sign", "dedup"}, **OPTIONS)
def sign(shard: ShardRef, cleaned: StageReport, config: PrepareConfig) -> StageReport:
    """Signatures of every document of a piece."""
    return in_worker("sign", signing.sign, config, shard=shard, cleaned=cleaned)


@task(name="find", task_run_name="find-{search.index:05d}", tags={"find", "dedup"}, **OPTIONS)
def find(search: Search, ranks: list[int], signed: Reports, config: PrepareConfig) -> StageReport:
    """The pairs of copies that one search finds in all pieces."""
    return in_worker("find", finding.find, config, search=search, ranks=ranks, signed=signed.reports)


@task(name="decide", task_run_name="decide", tags={"decide", "dedup"}, **OPTIONS)
def decide(found: Reports, kinds: list[int], ranks: list[int], signed: Reports, config: PrepareConfig) -> StageReport:
    """Cluster the pairs; one verdict for every piece."""
    return in_worker(
        "decide", deciding.decide, config, found=found.reports, kinds=kinds, ranks=ranks, signed=signed.reports
    )


@task(name="name", task_run_name="name-{own.name}", tags={"name", "dedup"}, **OPTIONS)
def name(
    own: StageReport,  # noqa: ARG001  names the task run
    place: int,
    decided: StageReport,
    signed: Reports,
    config: PrepareConfig,
) -> StageReport:
    """Which document each dropped one of a piece repeats."""
    return in_worker("name", naming.name, config, place=place, decided=decided, signed=signed.reports)


def drop_duplicates(ingested: "Ingested", config: PrepareConfig) -> Deduplicated:
    """Fan out over the searches, decide, and name what was dropped."""
    signed = Reports(reports=ingested.signed)
    priorities = [config.source(ingested.plan.shards[report.shard].source).priority for report in ingested.signed]
    ranks = ranks_of(ingested.signed, priorities)
    planned = finding.searches(ingested.signed, config)
    if planned:
        watch.board.begin("find", len(planned))
    watch.board.begin("decide", 1)
    calls = [{"search": search, "ranks": ranks, "signed": signed, "config": config} for search in planned]
    found = each(find, calls, config)
    raise_failed(found)
    decided = decide(Reports(reports=found), [search.kind for search in planned], ranks, signed, config)
    return Deduplicated(decided=decided, named=name_copies(decided, signed, config))


def name_copies(decided: StageReport, signed: Reports, config: PrepareConfig) -> list[StageReport]:
    """Fan out over the pieces that lost documents."""
    places = deciding.places_to_name(decided)
    if places:
        watch.board.begin("name", len(places))
    calls = [
        {"own": signed.reports[place], "place": place, "decided": decided, "signed": signed, "config": config}
        for place in places
    ]
    named = each(name, calls, config)
    raise_failed(named)
    return named
