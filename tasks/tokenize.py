"""tokenize: obtain the tokenizer, decide the order, encode every shard."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages import order as ordering
from gristmill.stages import tokenize as stage
from gristmill.stages import vocabulary as vocabularies
from gristmill.types import StageReport, Value
from tasks.dedup import Deduplicated, Reports
from tasks.ingest import Ingested
from tasks.run import OPTIONS, each, in_worker, raise_failed, watch


class Tokenized(Value, frozen=True, kw_only=True):
    """Reports of the shards in use, in order, and what their ids were made with."""

    tokenizer: StageReport
    arranged: StageReport
    shards: list[StageReport]


@task(name="vocabulary", task_run_name="vocabulary", tags={"vocabulary", "tokenize"}, **OPTIONS)
def vocabulary(cleaned: Reports, decided: StageReport, config: PrepareConfig) -> StageReport:
    """Copy the tokenizer, or train it."""
    return in_worker("vocabulary", vocabularies.vocabulary, config, cleaned=cleaned.reports, decided=decided)


@task(name="order", task_run_name="order", tags={"order", "tokenize"}, **OPTIONS)
def order(signed: Reports, decided: StageReport, config: PrepareConfig) -> StageReport:
    """Split and order, as far as they must be known beforehand."""
    return in_worker("order", ordering.order, config, signed=signed.reports, decided=decided)


@task(name="tokenize", task_run_name="tokenize-{cleaned.name}", tags={"tokenize"}, **OPTIONS)
def tokenize(
    place: int,
    cleaned: StageReport,
    decided: StageReport,
    tokenizer: StageReport,
    arranged: StageReport,
    config: PrepareConfig,
) -> StageReport:
    """Encode the kept documents of one shard."""
    return in_worker(
        "tokenize",
        stage.tokenize,
        config,
        place=place,
        cleaned=cleaned,
        decided=decided,
        tokenizer=tokenizer,
        arranged=arranged,
    )


def tokenize_shards(ingested: Ingested, dropped: Deduplicated, config: PrepareConfig) -> Tokenized:
    """Fan out over the pieces."""
    decided = dropped.decided
    watch.board.begin("vocabulary", 1)
    watch.board.begin("order", 1)
    watch.board.begin("tokenize", len(ingested.cleaned))
    tokenizer = vocabulary(Reports(reports=ingested.cleaned), decided, config)
    arranged = order(Reports(reports=ingested.signed), decided, config)
    common = {"decided": decided, "tokenizer": tokenizer, "arranged": arranged, "config": config}
    calls = [{"place": place, "cleaned": cleaned, **common} for place, cleaned in enumerate(ingested.cleaned)]
    shards = each(tokenize, calls, config)
    raise_failed(shards)
    return Tokenized(tokenizer=tokenizer, arranged=arranged, shards=shards)
