"""plan: list and number the input."""

from uuid import UUID

from prefect import task
from prefect.client.orchestration import get_client
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from gristmill.config import PrepareConfig
from gristmill.processes import pool
from gristmill.stages.ingest import plan as stage
from gristmill.stages.publish.budget import budget, check_space
from gristmill.stages.tokens.ready import ready
from gristmill.stages.tokens.tokenizer import check_tokenizer
from gristmill.types import Plan
from tasks.run import OPTIONS, tag


@task(name="plan", task_run_name="plan", **OPTIONS)
def plan(config: PrepareConfig) -> Plan:
    """Every new input shard in global order; refuses a run that cannot fit on the disk or would mix data sets."""
    tag("plan")
    config.check_rules()
    planned = pool.call(stage.plan, config=config)
    # This reads a sample, and loads the tokenizer to count ids.
    needed = pool.call(budget, shards=planned.shards, config=config)
    name_run(f"{config.dataset}-g{planned.generation if planned.shards else planned.generation - 1}", config)
    for line in check_space(needed, config):
        get_run_logger().warning(line)
    if not planned.shards:
        pool.call(check_tokenizer, config=config)
        return planned
    # The tokenizer is checked by every worker at once: it stays loaded there, and so do the stages.
    pool.everywhere(ready, children=min(config.execution.worker_count(), len(planned.shards)), config=config)
    return planned


def name_run(name: str, config: PrepareConfig) -> None:
    """The flow run gets this name, known only once there is a plan, and the data set as a tag."""
    with get_client(sync_client=True) as client:
        client.update_flow_run(UUID(flow_run.id), name=name, tags=sorted({*flow_run.tags, config.dataset}))
