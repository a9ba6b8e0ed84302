"""publish: the manifest last, then what people see of the run."""

from typing import Any

import httpx
from prefect import task
from prefect.artifacts import create_table_artifact
from prefect.logging import get_run_logger

from gristmill.config import PrepareConfig
from gristmill.manifest import MANIFEST
from gristmill.phases import output
from gristmill.phases.dedup import Deduplicated
from gristmill.phases.ingest import Ingested
from gristmill.phases.output import Delivered
from gristmill.phases.tokens import Tokenized
from gristmill.reporting.rehearsal import page
from gristmill.reporting.tables import escape
from gristmill.stages.publish import publish as stage
from gristmill.stages.publish import publish_tokenizer as tokenizers
from gristmill.stages.publish.rehearse import projected_hours, verdicts_of
from gristmill.storage import stores
from gristmill.storage.claims import Claim
from gristmill.types import Manifest, Plan, StageReport
from tasks import run
from tasks.artifacts import record, record_rehearsal
from tasks.notify import tell
from tasks.progress import progress
from tasks.run import OPTIONS, tag


@task(name="publish", task_run_name="publish", **OPTIONS)
def publish(
    ingested: Ingested,
    dropped: Deduplicated,
    tokenized: Tokenized,
    delivered: Delivered,
    claim: Claim,
    config: PrepareConfig,
) -> dict[str, object]:
    """Check that everything adds up, write the manifest, record the artifacts; returns where the data set is."""
    tag("publish")
    results = output.results(ingested, dropped, tokenized, delivered, claim)
    manifest = stage.publish(results, config)
    hours = [projected_hours(results, dropped.found, config)] if config.rehearse else []
    return _recorded(manifest, delivered.uploaded, config, hours)


@task(name="stand", task_run_name="stand", **OPTIONS)
def stand(planned: Plan, config: PrepareConfig) -> dict[str, object]:
    """Nothing has arrived: the data set as it is."""
    tag("publish")
    return _recorded(stage.stand(planned, config), [], config, [])


@task(name="publish_tokenizer", task_run_name="publish-tokenizer", **OPTIONS)
def publish_tokenizer(tokenizer: StageReport, config: PrepareConfig) -> dict[str, Any]:
    """Put the files in place and record what the tokenizer does, by source."""
    tag("publish")
    report = tokenizers.publish_tokenizer(tokenizer, config)
    rows = [{"source": escape(name), **row} for name, row in report["sources"].items()]
    create_table_artifact(rows, key="tokenizer-report", description=f"Tokenizer in {escape(report['folder'])}")
    progress.update(1.0)
    return report


def _recorded(
    manifest: Manifest, uploaded: list[StageReport], config: PrepareConfig, hours: list[str]
) -> dict[str, object]:
    """Leave the artifacts, where the server is there to take them: the data set is whole; returns where that is."""
    try:
        _record(manifest, uploaded, config, hours)
    except httpx.HTTPError as error:
        get_run_logger().warning("the data set is whole, but its artifacts are not recorded: %s", error)
    where = stores.at(config.destination).where(MANIFEST)
    return {"manifest": where, "sha256": manifest.sha256, **manifest.totals, "hours": hours}


def _record(manifest: Manifest, uploaded: list[StageReport], config: PrepareConfig, hours: list[str]) -> None:
    record(manifest, uploaded, stores.absolute(config.destination), run.workers.display)
    verdicts = verdicts_of(manifest, config)
    if verdicts is not None:
        record_rehearsal(page(verdicts, *hours))
    set_aside = sum(manifest.quarantined.values())
    if set_aside:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in manifest.quarantined.items())
        tell(config.execution.notify, f"{config.dataset}: {set_aside:,} documents in quarantine", reasons)
    progress.update(1.0)
