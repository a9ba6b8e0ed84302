"""publish: the manifest last, then what people see of the run."""

import httpx
from prefect import task
from prefect.logging import get_run_logger

from gristmill.config import PrepareConfig
from gristmill.manifest import MANIFEST
from gristmill.reporting.rehearsal import page
from gristmill.stages.publish import publish as stage
from gristmill.stages.publish.rehearse import projected_hours, verdicts_of
from gristmill.stages.publish.results import Results
from gristmill.storage import stores
from gristmill.storage.claims import Claim
from gristmill.types import Manifest, Plan, StageReport
from tasks.artifacts import record, record_rehearsal
from tasks.dedup import Deduplicated
from tasks.deliver import Delivered
from tasks.ingest import Ingested
from tasks.notify import tell
from tasks.run import OPTIONS, tag, watch
from tasks.tokenize import Tokenized


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
    results = Results(
        claim=claim,
        generation=ingested.plan.generation,
        shards=ingested.plan.shards,
        removed=ingested.plan.removed,
        passed_over=ingested.plan.passed_over,
        fetched=ingested.fetched,
        cleaned=ingested.cleaned,
        signed=ingested.signed,
        decided=dropped.decided,
        named=dropped.named,
        trimmed=dropped.trimmed,
        tokenizer=tokenized.tokenizer,
        tokenized=tokenized.shards,
        texts=tokenized.texts,
        mixed=tokenized.mixed,
        surveyed=tokenized.surveyed,
        layout=delivered.layout,
        packed=delivered.pieces,
        uploaded=delivered.uploaded,
        failed=ingested.failed,
    )
    manifest = stage.publish(results, config)
    hours = [projected_hours(results, dropped.found, config)] if config.rehearse else []
    return _recorded(manifest, delivered.uploaded, config, hours)


@task(name="stand", task_run_name="stand", **OPTIONS)
def stand(planned: Plan, config: PrepareConfig) -> dict[str, object]:
    """Nothing has arrived: the data set as it is."""
    tag("publish")
    return _recorded(stage.stand(planned, config), [], config, [])


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
    record(manifest, uploaded, stores.absolute(config.destination), watch.board)
    verdicts = verdicts_of(manifest, config)
    if verdicts is not None:
        record_rehearsal(page(verdicts, *hours))
    set_aside = sum(manifest.quarantined.values())
    if set_aside:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in manifest.quarantined.items())
        tell(config.execution.notify, f"{config.dataset}: {set_aside:,} documents in quarantine", reasons)
    watch.update(1.0)
