"""train: a tokenizer from the documents that are kept, published alone."""

from typing import Any

from prefect import task
from prefect.artifacts import create_table_artifact

from gristmill.config import PrepareConfig
from gristmill.reporting.tables import escape
from gristmill.stages.publish import publish_tokenizer as publishing
from gristmill.stages.tokens import tokenizer as vocabularies
from gristmill.types import StageReport
from tasks.dedup import Deduplicated
from tasks.run import OPTIONS, Reports, in_worker, tag, watch


@task(name="train", task_run_name="train", **OPTIONS)
def train(pieces: Reports, decided: StageReport, config: PrepareConfig) -> StageReport:
    """Train on a sample of all pieces, and measure what came of it."""
    return in_worker("vocabulary", vocabularies.obtain, config, cleaned=pieces.reports, decided=decided)


@task(name="publish_tokenizer", task_run_name="publish-tokenizer", **OPTIONS)
def publish_tokenizer(tokenizer: StageReport, config: PrepareConfig) -> dict[str, Any]:
    """Put the files in place and record what the tokenizer does, by source."""
    tag("publish")
    report = publishing.publish_tokenizer(tokenizer, config)
    rows = [{"source": escape(name), **row} for name, row in report["sources"].items()]
    create_table_artifact(rows, key="tokenizer-report", description=f"Tokenizer in {escape(report['folder'])}")
    watch.update(1.0)
    return report


def train_on(dropped: Deduplicated, config: PrepareConfig) -> StageReport:
    """One task run over all pieces that are left."""
    publishing.check_trained(config)
    watch.board.begin("vocabulary", 1)
    return train(Reports(reports=dropped.pieces), dropped.settled, config)
