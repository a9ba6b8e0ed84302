"""clean: rules and filters on one shard."""

from typing import Any

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.ingest import clean as stage
from gristmill.types import ShardRef, StageReport, part_name
from tasks.run import OPTIONS, in_worker


def _named(parameters: dict[str, Any]) -> str:
    return f"clean-{part_name(parameters['shard'].index, parameters['piece'])}"


@task(name="clean", task_run_name=_named, **OPTIONS)
def clean(shard: ShardRef, fetched: StageReport, piece: int, config: PrepareConfig) -> StageReport:
    """Rewrite and filter the documents of a piece, each drop with a reason."""
    return in_worker("clean", stage.clean, config, shard=shard, fetched=fetched, piece=piece)
