"""publish: the manifest last, then what people see of the run."""

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from gristmill import places
from gristmill.config import PrepareConfig
from gristmill.manifest import MANIFEST
from gristmill.reporting.summary import summary
from gristmill.reporting.tables import escape, input_rows, published_rows
from gristmill.stages import publish as stage
from gristmill.stages.results import Results
from gristmill.types import Manifest, Plan, StageReport
from tasks.dedup import Deduplicated
from tasks.ingest import Ingested
from tasks.notify import tell
from tasks.pack import Packed
from tasks.run import OPTIONS, watch
from tasks.tokenize import Tokenized


@task(name="publish", task_run_name="publish", tags={"publish"}, **OPTIONS)
def publish(
    ingested: Ingested,
    dropped: Deduplicated,
    tokenized: Tokenized,
    packed: Packed,
    uploaded: list[StageReport],
    config: PrepareConfig,
) -> dict[str, object]:
    """Check that everything adds up, write the manifest, record the artifacts; returns where the data set is."""
    manifest = stage.publish(
        Results(
            generation=ingested.plan.generation,
            shards=ingested.plan.shards,
            removed=ingested.plan.removed,
            fetched=ingested.fetched,
            cleaned=ingested.cleaned,
            signed=ingested.signed,
            decided=dropped.decided,
            named=dropped.named,
            trimmed=dropped.trimmed,
            tokenizer=tokenized.tokenizer,
            tokenized=tokenized.shards,
            layout=packed.layout,
            packed=packed.pieces,
            uploaded=uploaded,
            failed=ingested.failed,
        ),
        config,
    )
    return record(manifest, config)


@task(name="stand", task_run_name="stand", tags={"publish"}, **OPTIONS)
def stand(planned: Plan, config: PrepareConfig) -> dict[str, object]:
    """Nothing has arrived: the data set as it is."""
    return record(stage.stand(planned, config), config)


def record(manifest: Manifest, config: PrepareConfig) -> dict[str, object]:
    """The artifacts of a finished run: published files, input shards, the summary; returns where the data set is."""
    place = escape(places.at(places.absolute(config.destination)).where(MANIFEST))
    create_table_artifact(published_rows(manifest), key="shard-report", description=f"Published files of {place}")
    create_table_artifact(input_rows(manifest), key="input-report", description="What became of every input shard")
    create_markdown_artifact(summary(manifest), key="corpus-report", description=f"Summary of {place}")
    set_aside = sum(manifest.quarantined.values())
    if set_aside:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in manifest.quarantined.items())
        tell(config.execution.notify, f"{config.dataset}: {set_aside:,} documents in quarantine", reasons)
    watch.update(1.0)
    return {"manifest": places.at(config.destination).where(MANIFEST), "sha256": manifest.sha256, **manifest.totals}
