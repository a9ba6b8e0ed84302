"""mix: how often every document is published."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.tokens import mix as stage
from gristmill.types import StageReport
from tasks.run import OPTIONS, Reports, in_worker


@task(name="mix", task_run_name="mix", **OPTIONS)
def mix(
    generation: int,
    tokenized: Reports,
    texts: Reports,
    measured: Reports,
    arranged: StageReport,
    config: PrepareConfig,
) -> StageReport:
    """Give each source its share of the tokens."""
    return in_worker(
        "mix",
        stage.mix,
        config,
        generation=generation,
        tokenized=tokenized.reports,
        texts=texts.reports,
        measured=measured.reports,
        arranged=arranged,
    )
