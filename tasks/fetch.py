"""fetch: one input shard into Arrow."""

from collections.abc import Callable

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.ingest import fetch as stage
from gristmill.types import ShardRef, StageReport
from tasks.run import OPTIONS, in_worker


@task(name="fetch", task_run_name="fetch-{shard.name}", **OPTIONS)
def fetch(
    shard: ShardRef, config: PrepareConfig, announced: Callable[[StageReport], None] | None = None
) -> StageReport:
    """Read a shard, quarantine what cannot be used; ``announced`` hears of each piece but the last when it is there."""
    return in_worker("fetch", stage.fetch, config, downloading=shard, announced=announced, shard=shard)
