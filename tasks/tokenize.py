"""tokenize: obtain the tokenizer, decide the order, encode every shard."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages import order as ordering
from gristmill.stages import tokenize as stage
from gristmill.stages import vocabulary as vocabularies
from gristmill.types import StageReport, Value
from tasks.dedup import Deduplicated
from tasks.run import OPTIONS, Reports, in_worker, watch
from tasks.spread import all_done


class Tokenized(Value, frozen=True, kw_only=True):
    """Reports of the shards in use, in order, and what their ids were made with."""

    generation: int
    tokenizer: StageReport
    arranged: StageReport
    shards: list[StageReport]


@task(name="vocabulary", task_run_name="vocabulary", tags={"vocabulary", "tokenize"}, **OPTIONS)
def vocabulary(generation: int, cleaned: Reports, decided: StageReport, config: PrepareConfig) -> StageReport:
    """Copy the tokenizer, or train it."""
    return in_worker(
        "vocabulary",
        vocabularies.vocabulary,
        config,
        generation=generation,
        cleaned=cleaned.reports,
        decided=decided,
    )


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
    """Encode the kept documents of one piece."""
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


def tokenize_shards(dropped: Deduplicated, config: PrepareConfig) -> Tokenized:
    """Fan out over the pieces that are left."""
    pieces, settled = Reports(reports=dropped.pieces), dropped.settled
    watch.board.begin("vocabulary", 1)
    watch.board.begin("order", 1)
    watch.board.begin("tokenize", len(dropped.pieces))
    tokenizer = vocabulary(dropped.generation, pieces, settled, config)
    arranged = order(Reports(reports=dropped.measured), settled, config)
    common = {"decided": settled, "tokenizer": tokenizer, "arranged": arranged, "config": config}
    calls = [{"place": place, "cleaned": cleaned, **common} for place, cleaned in enumerate(dropped.pieces)]
    shards = all_done(tokenize, calls, config)
    return Tokenized(generation=dropped.generation, tokenizer=tokenizer, arranged=arranged, shards=shards)
