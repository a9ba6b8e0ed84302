"""sign: signatures of one piece."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.dedup import sign as stage
from gristmill.types import ShardRef, StageReport
from tasks.run import OPTIONS, in_worker


@task(name="sign", task_run_name="sign-{cleaned.name}", **OPTIONS)
def sign(shard: ShardRef, cleaned: StageReport, config: PrepareConfig) -> StageReport:
    """Signatures of every document of a piece."""
    return in_worker("sign", stage.sign, config, shard=shard, cleaned=cleaned)
