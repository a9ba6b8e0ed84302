"""ingest: everything that is done to one input shard before the shards must meet."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.stages.fetch import check_quarantined, check_usable
from gristmill.types import Plan, ShardRef, StageReport, Value, part_name
from tasks.clean import clean
from tasks.fetch import fetch
from tasks.run import OPTIONS, all_done, each, raise_failed, watch
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


def ingest(plan: Plan, config: PrepareConfig) -> Ingested:
    """Fan out over the input shards, then over the pieces of the big ones. All shards are tried before a damaged one
    stops the run or, with ``on_bad_file: quarantine``, is left out by name."""
    for stage in ("fetch", "clean", "sign"):
        watch.board.begin(stage, len(plan.shards))
    results = each(ingest_shard, [{"shard": shard, "config": config} for shard in plan.shards], config)
    failed = {}
    if config.on_bad_file == "quarantine":
        failed = {number: str(error) for number, error in enumerate(results) if isinstance(error, InputError)}
    used = {number: result for number, result in enumerate(results) if number not in failed}
    raise_failed(list(used.values()))
    check_usable(len(results), failed)
    fetched = [reports["fetched"] for reports in used.values()]
    check_quarantined(fetched, config)
    pieces = sorted([*_small(used), *_big(used, plan, config)], key=_order)
    return Ingested(
        plan=plan,
        fetched=fetched,
        cleaned=[reports["cleaned"] for reports in pieces],
        signed=[reports["signed"] for reports in pieces],
        failed=failed,
    )


def _order(reports: dict[str, StageReport]) -> list[int]:
    return [reports["cleaned"].shard, reports["cleaned"].piece]


def _small(used: dict[int, dict[str, StageReport]]) -> list[dict[str, StageReport]]:
    return [reports for reports in used.values() if "cleaned" in reports]


def _big(used: dict[int, dict[str, StageReport]], plan: Plan, config: PrepareConfig) -> list[dict[str, StageReport]]:
    """The pieces of the shards that were cut."""
    calls = [
        {"shard": plan.shards[number], "fetched": reports["fetched"], "piece": piece, "config": config}
        for number, reports in used.items()
        if "cleaned" not in reports
        for piece in range(reports["fetched"].details["pieces"])
    ]
    shards = len({call["shard"].index for call in calls})
    for stage in ("clean", "sign"):
        watch.board.extend(stage, len(calls) - shards)
    return all_done(ingest_piece, calls, config)
