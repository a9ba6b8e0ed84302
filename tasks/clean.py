"""clean: rules and filters on one shard."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages import clean as stage
from gristmill.types import ShardRef, StageReport
from tasks.run import OPTIONS, in_worker


@task(name="clean", task_run_name="clean-{shard.name}-{piece}", **OPTIONS)
def clean(shard: ShardRef, fetched: StageReport, piece: int, config: PrepareConfig) -> StageReport:
    """Rewrite and filter the documents of a piece, each drop with a reason."""
    return in_worker("clean", stage.clean, config, shard=shard, fetched=fetched, piece=piece)
