"""tokenize: obtain the tokenizer, decide the order, encode every shard."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.publish import survey as surveying
from gristmill.stages.tokens import order as ordering
from gristmill.stages.tokens import texts as texts_stage
from gristmill.stages.tokens import tokenize as stage
from gristmill.stages.tokens import tokenizer as vocabularies
from gristmill.types import StageReport, Value
from tasks.dedup import Deduplicated
from tasks.mix import mix
from tasks.run import OPTIONS, Reports, in_worker, tag, watch
from tasks.spread import all_done, at_once, meanwhile


class Tokenized(Value, frozen=True, kw_only=True):
    """Reports of the shards in use, in order, and what their ids were made with."""

    generation: int
    tokenizer: StageReport
    arranged: StageReport
    shards: list[StageReport]
    texts: list[StageReport]
    """The same documents as bytes of their text; empty where no format holds it."""
    mixed: StageReport | None
    """How often each of them is published; None where nothing is mixed."""
    surveyed: StageReport
    """What the corpus is written in."""


@task(name="vocabulary", task_run_name="vocabulary", **OPTIONS)
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


@task(name="order", task_run_name="order", **OPTIONS)
def order(signed: Reports, decided: StageReport, config: PrepareConfig) -> StageReport:
    """Split and order, as far as they must be known beforehand."""
    return in_worker("order", ordering.order, config, signed=signed.reports, decided=decided)


@task(name="tokenize", task_run_name="tokenize-{cleaned.name}", **OPTIONS)
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


@task(name="survey", task_run_name="survey", **OPTIONS)
def survey(cleaned: Reports, config: PrepareConfig) -> StageReport:
    """What a sample of all documents is written in: in this process, for it is little and all workers are busy."""
    tag("survey")
    return surveying.survey(cleaned.reports, config)


@task(name="texts", task_run_name="texts-{cleaned.name}", **OPTIONS)
def texts(
    place: int,
    cleaned: StageReport,
    decided: StageReport,
    tokenized: StageReport,
    arranged: StageReport,
    config: PrepareConfig,
) -> StageReport:
    """Group the text of one piece, for formats that hold it."""
    return in_worker(
        "texts",
        texts_stage.texts,
        config,
        place=place,
        cleaned=cleaned,
        decided=decided,
        tokenized=tokenized,
        arranged=arranged,
    )


def tokenize_shards(cleaned: list[StageReport], dropped: Deduplicated, config: PrepareConfig) -> Tokenized:
    """Fan out over the pieces that are left; meanwhile, look at what all of them are written in."""
    pieces, settled = Reports(reports=dropped.pieces), dropped.settled
    watch.board.begin("vocabulary", 1)
    watch.board.begin("order", 1)
    watch.board.begin("tokenize", len(dropped.pieces))
    common = {"decided": settled, "config": config}
    tokenizer, arranged = at_once(
        {
            vocabulary: {"generation": dropped.generation, "cleaned": pieces, **common},
            order: {"signed": Reports(reports=dropped.measured), **common},
        },
        config,
    )
    common |= {"tokenizer": tokenizer, "arranged": arranged}
    calls = [{"place": place, "cleaned": cleaned, **common} for place, cleaned in enumerate(dropped.pieces)]
    with meanwhile(survey, {"cleaned": Reports(reports=cleaned), "config": config}) as surveyed:
        shards = all_done(tokenize, calls, config)
    spelled = _spelled(dropped, shards, arranged, config) if config.holds_text else []
    mixed = _mixed(dropped, shards, spelled, arranged, config) if config.mix else None
    return Tokenized(
        generation=dropped.generation,
        tokenizer=tokenizer,
        arranged=arranged,
        shards=shards,
        texts=spelled,
        mixed=mixed,
        surveyed=surveyed.result(),
    )


def _mixed(
    dropped: Deduplicated,
    shards: list[StageReport],
    spelled: list[StageReport],
    arranged: StageReport,
    config: PrepareConfig,
) -> StageReport:
    watch.board.begin("mix", 1)
    call = {"generation": dropped.generation, "arranged": arranged, "config": config}
    held = {"tokenized": shards, "texts": spelled, "measured": dropped.measured}
    (found,) = at_once({mix: call | {name: Reports(reports=reports) for name, reports in held.items()}}, config)
    return found


def _spelled(
    dropped: Deduplicated, shards: list[StageReport], arranged: StageReport, config: PrepareConfig
) -> list[StageReport]:
    watch.board.begin("texts", len(shards))
    common = {"decided": dropped.settled, "arranged": arranged, "config": config}
    pairs = zip(dropped.pieces, shards, strict=True)
    calls = [
        {"place": place, "cleaned": cleaned, "tokenized": ids, **common} for place, (cleaned, ids) in enumerate(pairs)
    ]
    return all_done(texts, calls, config)
