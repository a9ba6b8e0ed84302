"""ingest: everything that is done to one input shard before the shards must meet."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.stages.fetch import check_quarantined, check_usable
from gristmill.types import Plan, ShardRef, StageReport, Value
from tasks.clean import clean
from tasks.dedup import sign
from tasks.fetch import fetch
from tasks.run import OPTIONS, each, raise_failed, watch


class Ingested(Value, frozen=True, kw_only=True):
    """Reports of the shards in use, in order, and why the others are left out."""

    plan: Plan
    fetched: list[StageReport]
    cleaned: list[StageReport]
    signed: list[StageReport]
    failed: dict[int, str]


@task(name="ingest", task_run_name="ingest-{shard.name}", tags={"ingest"}, **{**OPTIONS, "retries": 0})
def ingest_shard(shard: ShardRef, config: PrepareConfig) -> dict[str, StageReport]:
    """Fetch, clean and sign one shard; each is a task run of its own with its own retries."""
    retries = config.execution.retries
    fetched = fetch.with_options(retries=retries)(shard, config)
    cleaned = clean.with_options(retries=retries)(shard, fetched, config)
    signed = sign.with_options(retries=retries)(shard, cleaned, config)
    return {"fetched": fetched, "cleaned": cleaned, "signed": signed}


def ingest(plan: Plan, config: PrepareConfig) -> Ingested:
    """Fan out over the input shards. All are tried before a damaged one stops the run or, with
    ``on_bad_file: quarantine``, is left out by name."""
    for stage in ("fetch", "clean", "sign"):
        watch.board.begin(stage, len(plan.shards))
    results = each(ingest_shard, [{"shard": shard, "config": config} for shard in plan.shards], config)
    failed = {}
    if config.on_bad_file == "quarantine":
        failed = {n: str(error) for n, error in enumerate(results) if isinstance(error, InputError)}
    used = [result for number, result in enumerate(results) if number not in failed]
    raise_failed(used)
    check_usable(len(results), failed)
    fetched = [reports["fetched"] for reports in used]
    check_quarantined(fetched, config)
    return Ingested(
        plan=plan,
        fetched=fetched,
        cleaned=[reports["cleaned"] for reports in used],
        signed=[reports["signed"] for reports in used],
        failed=failed,
    )
