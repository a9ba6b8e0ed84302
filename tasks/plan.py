"""plan: list and number the input."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages import plan as stage
from gristmill.stages.vocabulary import check_tokenizer
from gristmill.types import Plan
from tasks.run import OPTIONS, name_run


@task(name="plan", task_run_name="plan", tags={"plan"}, **OPTIONS)
def plan(config: PrepareConfig) -> Plan:
    """Every new input shard in global order; refuses a run that cannot fit on the disk or would mix data sets."""
    config.check_rules()
    planned = stage.plan(config)
    name_run(f"{config.dataset}-g{planned.generation if planned.shards else planned.generation - 1}", config)
    check_tokenizer(config)
    stage.check_space(planned, config)
    return planned
