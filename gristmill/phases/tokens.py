"""Tokens: obtain the tokenizer, decide the order, encode every piece."""

from functools import partial

from gristmill.config import PrepareConfig
from gristmill.phases.dedup import Deduplicated
from gristmill.phases.ingest import Ingested
from gristmill.runners.base import Runner
from gristmill.stages.publish.survey import survey
from gristmill.stages.tokens.mix import mix
from gristmill.stages.tokens.order import order
from gristmill.stages.tokens.texts import texts
from gristmill.stages.tokens.tokenize import tokenize
from gristmill.stages.tokens.tokenizer import obtain, vocabulary
from gristmill.types import StageReport, Value


class Tokenized(Value, frozen=True, kw_only=True):
    """Reports of the pieces in use, in order, and of the tokenizer and the order that made their ids."""

    generation: int
    tokenizer: StageReport
    arranged: StageReport
    pieces: list[StageReport]
    texts: list[StageReport]
    """The same documents as bytes of their text; empty where no format holds it."""
    mixed: StageReport | None
    """How often each of them is published; None where nothing is mixed."""
    surveyed: StageReport
    """The languages that the corpus is written in."""


def tokenize_shards(ingested: Ingested, dropped: Deduplicated, config: PrepareConfig, runner: Runner) -> Tokenized:
    """Fan out over the pieces that are left; meanwhile, look at the languages of all pieces."""
    generation, settled = dropped.generation, dropped.settled
    tokenizer, arranged = runner.at_once(
        partial(vocabulary, generation=generation, cleaned=dropped.pieces, decided=settled, config=config),
        partial(order, signed=dropped.measured, decided=settled, config=config),
    )
    calls = [
        partial(
            tokenize,
            place=place,
            cleaned=piece,
            decided=settled,
            tokenizer=tokenizer,
            arranged=arranged,
            config=config,
        )
        for place, piece in enumerate(dropped.pieces)
    ]
    with runner.meanwhile(partial(survey, cleaned=ingested.cleaned, config=config)) as surveyed:
        pieces = runner.each(calls)
    spelled = spell(dropped, pieces, arranged, config, runner)
    return Tokenized(
        generation=generation,
        tokenizer=tokenizer,
        arranged=arranged,
        pieces=pieces,
        texts=spelled,
        mixed=mix_sources(dropped, pieces, spelled, arranged, config, runner),
        surveyed=surveyed(),
    )


def spell(
    dropped: Deduplicated, tokenized: list[StageReport], arranged: StageReport, config: PrepareConfig, runner: Runner
) -> list[StageReport]:
    """The texts of the pieces, where a format holds text."""
    if not config.holds_text:
        return []
    return runner.each(
        [
            partial(
                texts,
                place=place,
                cleaned=piece,
                decided=dropped.settled,
                tokenized=ids,
                arranged=arranged,
                config=config,
            )
            for place, (piece, ids) in enumerate(zip(dropped.pieces, tokenized, strict=True))
        ]
    )


def mix_sources(
    dropped: Deduplicated,
    tokenized: list[StageReport],
    spelled: list[StageReport],
    arranged: StageReport,
    config: PrepareConfig,
    runner: Runner,
) -> StageReport | None:
    """How often every document is published, where sources have shares."""
    if not config.mix:
        return None
    (mixed,) = runner.at_once(
        partial(
            mix,
            generation=dropped.generation,
            tokenized=tokenized,
            texts=spelled,
            measured=dropped.measured,
            arranged=arranged,
            config=config,
        )
    )
    return mixed


def train(dropped: Deduplicated, config: PrepareConfig, runner: Runner) -> StageReport:
    """Train a tokenizer on a sample of all pieces that are left."""
    (tokenizer,) = runner.at_once(partial(obtain, cleaned=dropped.pieces, decided=dropped.settled, config=config))
    return tokenizer
