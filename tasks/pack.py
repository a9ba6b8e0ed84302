"""pack: gather one piece of an output file."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.output import pack as stage
from gristmill.types import Piece, StageReport
from tasks.run import OPTIONS, Reports, in_worker


@task(name="pack", task_run_name="pack-piece-{piece.index:05d}", **OPTIONS)
def pack(
    piece: Piece, tokenized: Reports, tokenizer: StageReport, mixed: StageReport | None, config: PrepareConfig
) -> StageReport:
    """One piece of one output file."""
    return in_worker(
        "pack", stage.pack, config, piece=piece, tokenized=tokenized.reports, tokenizer=tokenizer, mixed=mixed
    )
