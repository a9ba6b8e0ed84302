"""ingest: everything that is done to one input shard before the shards must meet."""

from typing import Any

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.errors import InputError, WorkerLost
from gristmill.stages.fetch import check_quarantined, check_usable
from gristmill.stages.publish import check_content
from gristmill.types import Plan, ShardRef, StageReport, Value, part_name
from tasks.clean import clean
from tasks.fetch import fetch
from tasks.run import OPTIONS, Call, each, raise_failed, watch
from tasks.sign import sign


class Ingested(Value, frozen=True, kw_only=True):
    """Reports of the shards that could be read and of their pieces, in order; why the other shards are left out."""

    plan: Plan
    fetched: list[StageReport]
    cleaned: list[StageReport]
    signed: list[StageReport]
    failed: dict[int, str]


@task(name="ingest", task_run_name="ingest-{shard.name}", tags={"ingest"}, **{**OPTIONS, "retries": 0})
def ingest_shard(shard: ShardRef, config: PrepareConfig) -> dict[str, StageReport]:
    """Fetch one shard and, unless it came in several pieces, clean and sign it. Each stage is a task run of its own
    with its own retries."""
    fetched = fetch.with_options(retries=config.execution.retries)(shard, config)
    if fetched.details["pieces"] > 1:
        return {"fetched": fetched}
    return {"fetched": fetched, **clean_and_sign(shard, fetched, 0, config)}


@task(name="ingest", task_run_name="ingest-{shard.name}-{piece}", tags={"ingest"}, **{**OPTIONS, "retries": 0})
def ingest_piece(shard: ShardRef, fetched: StageReport, piece: int, config: PrepareConfig) -> dict[str, StageReport]:
    """Clean and sign one piece of a big shard."""
    return clean_and_sign(shard, fetched, piece, config)


def clean_and_sign(shard: ShardRef, fetched: StageReport, piece: int, config: PrepareConfig) -> dict[str, StageReport]:
    """Two nested task runs."""
    retries = config.execution.retries
    name = part_name(shard.index, piece)
    cleaned = clean.with_options(retries=retries, task_run_name=f"clean-{name}")(shard, fetched, piece, config)
    return {"cleaned": cleaned, "signed": sign.with_options(retries=retries)(shard, cleaned, config)}


UNUSABLE = (InputError, WorkerLost)
"""What a shard is left out for: it is damaged, or whatever process takes it is lost, the retries included."""


def ingest(plan: Plan, config: PrepareConfig) -> Ingested:
    """Fan out over the input shards, then over the pieces of the big ones. All shards are tried before one that cannot
    be used stops the run or, with ``on_bad_file: quarantine``, is left out by name and wholly."""
    for stage in ("fetch", "clean", "sign"):
        watch.board.begin(stage, len(plan.shards))
    results = each(ingest_shard, [{"shard": shard, "config": config} for shard in plan.shards], config)
    failed: dict[int, str] = {}
    _set_aside(results, list(range(len(results))), failed, config)
    check_usable(len(results), failed)
    fetched = [reports["fetched"] for number, reports in enumerate(results) if number not in failed]
    check_quarantined(fetched, config)
    check_content(config, fetched)
    cut = _pieces_of_big([report for report in fetched if report.details["pieces"] > 1], plan, config)
    pieces = each(ingest_piece, cut, config) if cut else []
    _set_aside(pieces, [call["shard"].index for call in cut], failed, config)
    check_usable(len(results), failed)
    used = [reports for number, reports in enumerate(results) if number not in failed]
    whole = [reports for reports in used if "cleaned" in reports]
    whole += [reports for reports, call in zip(pieces, cut, strict=True) if call["shard"].index not in failed]
    whole.sort(key=_order)
    return Ingested(
        plan=plan,
        fetched=[reports["fetched"] for reports in used],
        cleaned=[reports["cleaned"] for reports in whole],
        signed=[reports["signed"] for reports in whole],
        failed=failed,
    )


def _set_aside(results: list[Any], shards: list[int], failed: dict[int, str], config: PrepareConfig) -> None:
    """Add to ``failed`` which of ``shards`` cannot be used and why, where they may be left out; raises what else went
    wrong."""
    others = []
    for shard, result in zip(shards, results, strict=True):
        if config.on_bad_file == "quarantine" and isinstance(result, UNUSABLE):
            failed.setdefault(shard, str(result))
        else:
            others.append(result)
    raise_failed(others)


def _order(reports: dict[str, StageReport]) -> list[int]:
    return [reports["cleaned"].shard, reports["cleaned"].piece]


def _pieces_of_big(fetched: list[StageReport], plan: Plan, config: PrepareConfig) -> list[Call]:
    """A call for each piece of the shards that were cut."""
    for stage in ("clean", "sign"):
        watch.board.extend(stage, sum(report.details["pieces"] - 1 for report in fetched))
    return [
        {"shard": plan.shards[report.shard], "fetched": report, "piece": piece, "config": config}
        for report in fetched
        for piece in range(report.details["pieces"])
    ]
