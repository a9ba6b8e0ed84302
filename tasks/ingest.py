"""ingest: everything that is done to one input shard before the shards must meet."""

from functools import partial
from typing import Any

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.errors import InputError, WorkerLost
from gristmill.stages.ingest.fetch import check_quarantined, check_usable
from gristmill.types import Plan, ShardRef, StageReport, Value
from tasks.clean import clean
from tasks.fetch import fetch
from tasks.run import OPTIONS, Crew, nested, tag, watch
from tasks.sign import sign
from tasks.spread import each, is_batched, raise_failed


class Ingested(Value, frozen=True, kw_only=True):
    """Reports of the shards that could be read and of their pieces, in order; why the other shards are left out."""

    plan: Plan
    fetched: list[StageReport]
    cleaned: list[StageReport]
    signed: list[StageReport]
    failed: dict[int, str]


@task(name="ingest", task_run_name="ingest-{shard.name}", **{**OPTIONS, "retries": 0})
def ingest_shard(shard: ShardRef, crew: Crew, config: PrepareConfig) -> dict[str, StageReport]:
    """Fetch one shard, then clean and sign its last piece, which is all of it unless it is big; the crew has the
    others done as soon as each is there. Each stage is a task run of its own with its own retries."""
    tag("ingest")
    announced = partial(begin_piece, shard, crew, config)
    fetched = nested(fetch, config, shard=shard, announced=announced)
    return {"fetched": fetched, **clean_and_sign(shard, fetched, fetched.details["pieces"] - 1, config)}


@task(name="ingest", task_run_name="ingest-{shard.name}-{piece}", **{**OPTIONS, "retries": 0})
def ingest_piece(shard: ShardRef, fetched: StageReport, piece: int, config: PrepareConfig) -> dict[str, StageReport]:
    """Clean and sign one piece of a big shard, of which more may still be read."""
    tag("ingest")
    return clean_and_sign(shard, fetched, piece, config)


def begin_piece(shard: ShardRef, crew: Crew, config: PrepareConfig, fetched: StageReport) -> None:
    """Have an announced piece cleaned and signed, once however often the shard is read."""
    name = f"{shard.name}-{fetched.piece}"
    if name in crew:
        return
    for stage in ("clean", "sign"):
        watch.board.extend(stage, 1)
    crew.ask(name, ingest_piece, {"shard": shard, "fetched": fetched, "piece": fetched.piece, "config": config})


def clean_and_sign(shard: ShardRef, fetched: StageReport, piece: int, config: PrepareConfig) -> dict[str, StageReport]:
    """Two nested task runs."""
    cleaned = nested(clean, config, shard=shard, fetched=fetched, piece=piece)
    return {"cleaned": cleaned, "signed": nested(sign, config, shard=shard, cleaned=cleaned)}


@task(name="ingest", task_run_name="ingest", **OPTIONS)
def ingest_in_batch(shard: ShardRef, fetched: StageReport, piece: int, config: PrepareConfig) -> dict[str, StageReport]:
    """``ingest_piece`` without task runs of its own, for many shards or another machine."""
    cleaned = clean.fn(shard, fetched, piece, config)
    return {"cleaned": cleaned, "signed": sign.fn(shard, cleaned, config)}


def ingest_batched(shards: list[ShardRef], config: PrepareConfig) -> dict[str, Any]:
    """Reports or exceptions by name, as the crew has them: all shards are fetched, then all pieces are worked on."""
    fetched = each(fetch, [{"shard": shard, "config": config} for shard in shards], config)
    outcomes: dict[str, Any] = {}
    calls: dict[str, dict[str, Any]] = {}
    for shard, report in zip(shards, fetched, strict=True):
        if isinstance(report, BaseException):
            outcomes[shard.name] = report
            continue
        for piece, name in enumerate(_pieces(report)):
            calls[name] = {"shard": shard, "fetched": report, "piece": piece, "config": config}
    for stage in ("clean", "sign"):
        watch.board.extend(stage, len(calls) - len(shards))
    for name, result in zip(calls, each(ingest_in_batch, [*calls.values()], config), strict=True):
        outcomes[name] = result if isinstance(result, BaseException) else {"fetched": calls[name]["fetched"], **result}
    return outcomes


def ingest_as_read(shards: list[ShardRef], config: PrepareConfig) -> dict[str, Any]:
    """Reports or exceptions by name: the pieces of a big shard are worked on while the rest of it is read."""
    crew = Crew(config)
    for shard in shards:
        crew.ask(shard.name, ingest_shard, {"shard": shard, "crew": crew, "config": config})
    return crew.outcomes()


def ingest(plan: Plan, config: PrepareConfig) -> Ingested:
    """Fan out over the input shards and the pieces of the big ones. All shards are tried before one that cannot be used
    stops the run or, with ``on_bad_file: quarantine``, is left out by name, its pieces with it."""
    for stage in ("fetch", "clean", "sign"):
        watch.board.begin(stage, len(plan.shards))
    outcomes = (ingest_batched if is_batched(len(plan.shards), config) else ingest_as_read)(plan.shards, config)
    failed = _unusable(plan, outcomes) if config.on_bad_file == "quarantine" else {}
    used = [shard.name for shard in plan.shards if shard.index not in failed]
    raise_failed([outcomes[name] for name in used])
    check_usable(len(plan.shards), failed)
    fetched = [outcomes[name]["fetched"] for name in used]
    check_quarantined(fetched, config)
    pieces = [outcomes[name] for report in fetched for name in _pieces(report)]
    raise_failed(pieces)
    return Ingested(
        plan=plan,
        fetched=fetched,
        cleaned=[reports["cleaned"] for reports in pieces],
        signed=[reports["signed"] for reports in pieces],
        failed=failed,
    )


UNUSABLE = (InputError, WorkerLost)
"""What a shard is left out for: it is damaged, or whatever process takes it or a piece of it is lost, the retries
included."""


def _unusable(plan: Plan, outcomes: dict[str, Any]) -> dict[int, str]:
    """Why shards are left out, by their index."""
    found = {}
    for shard in plan.shards:
        outcome = outcomes[shard.name]
        names = [shard.name] if isinstance(outcome, BaseException) else _pieces(outcome["fetched"])
        reasons = [str(outcomes[name]) for name in names if isinstance(outcomes[name], UNUSABLE)]
        if reasons:
            found[shard.index] = reasons[0]
    return found


def _pieces(fetched: StageReport) -> list[str]:
    """Under which names the crew has the pieces of a shard, in order."""
    return [*(f"{fetched.name}-{piece}" for piece in range(fetched.details["pieces"] - 1)), fetched.name]
