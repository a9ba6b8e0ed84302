"""upload: put every output file in place and count what arrived."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages import upload as stage
from gristmill.types import PlannedFile, StageReport
from tasks.limits import UPLOADS, limited
from tasks.pack import Packed
from tasks.run import OPTIONS, Reports, in_worker, watch
from tasks.spread import all_done
from tasks.tokenize import Tokenized


@task(name="upload", task_run_name="upload-{file.format}-{file.index:05d}", tags={"upload"}, **OPTIONS)
def upload(
    generation: int, file: PlannedFile, packed: Reports, tokenizer: StageReport, config: PrepareConfig
) -> StageReport:
    """One output file, recounted from its published bytes."""
    with limited(UPLOADS, config.destination):
        return in_worker(
            "upload",
            stage.upload,
            config,
            generation=generation,
            file=file,
            packed=packed.reports,
            tokenizer=tokenizer,
        )


def upload_files(packed: Packed, tokenized: Tokenized, config: PrepareConfig) -> list[StageReport]:
    """Fan out over the output files."""
    watch.board.begin("upload", len(packed.layout.files))
    calls = [
        {
            "generation": tokenized.generation,
            "file": file,
            "packed": Reports(reports=[packed.pieces[number] for number in file.pieces]),
            "tokenizer": tokenized.tokenizer,
            "config": config,
        }
        for file in packed.layout.files
    ]
    return all_done(upload, calls, config)
