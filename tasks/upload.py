"""upload: put one output file in place and count what arrived."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.output import upload as stage
from gristmill.storage.claims import Claim
from gristmill.types import PlannedFile, StageReport
from tasks.run import OPTIONS, Reports, in_worker


@task(name="upload", task_run_name="upload-{file.format}-{file.index:05d}", **OPTIONS)
def upload(
    generation: int, file: PlannedFile, packed: Reports, tokenizer: StageReport, claim: Claim, config: PrepareConfig
) -> StageReport:
    """One output file, recounted from its published bytes."""
    return in_worker(
        "upload",
        stage.upload,
        config,
        uploading=file,
        generation=generation,
        file=file,
        packed=packed.reports,
        tokenizer=tokenizer,
        claim=claim,
    )
