"""The task runs of every stage: one row each. A stage that is missing here runs under no flow."""

from collections.abc import Callable
from functools import partial
from typing import Any

from gristmill.phases.ingest import clean_and_sign
from gristmill.stages.dedup.decide import decide
from gristmill.stages.dedup.find import find
from gristmill.stages.dedup.list_duplicates import name
from gristmill.stages.dedup.recall import recall
from gristmill.stages.dedup.sign import sign
from gristmill.stages.dedup.spans import find_spans, sign_spans, trim
from gristmill.stages.ingest.clean import clean
from gristmill.stages.ingest.fetch import fetch
from gristmill.stages.ingest.plan import plan
from gristmill.stages.output.pack import pack
from gristmill.stages.output.upload import upload
from gristmill.stages.publish.survey import survey
from gristmill.stages.tokens.mix import mix
from gristmill.stages.tokens.order import order
from gristmill.stages.tokens.texts import texts
from gristmill.stages.tokens.tokenize import tokenize
from gristmill.stages.tokens.tokenizer import obtain, vocabulary
from gristmill.types import Value


class Row(Value, frozen=True, kw_only=True):
    """How the task runs of one stage or job are named and tried again."""

    task: str
    run: str
    """The name of a run: a format of the arguments of the call, and of its ``number`` among others."""
    tag: str = ""
    """``task`` where it is empty."""
    retries: int | None = None
    """None: the number in the execution settings."""
    failure: str = "{task}{numbered}"
    """The end of the key of the artifact of a run that failed: a format likewise."""
    chain: "Row | None" = None
    """Of the task that makes a call and those that follow it."""

    def name(self, call: partial[Any], number: int | None) -> str:
        """The name of the run that makes a call."""
        return self.run.format(**{"number": number, **call.keywords})

    def label(self, call: partial[Any], number: int | None) -> str:
        """The name of its failure; a call without a number is alone."""
        numbered = "" if number is None else f"-{number:05d}"
        return self.failure.format(**{"task": self.task, "numbered": numbered, **call.keywords})

    def stage(self) -> str:
        """The tag, which is the stage's name on the progress display too."""
        return self.tag or self.task


INGEST = Row(task="ingest", run="ingest-{shard.name}", retries=0, failure="{shard.name}")
DELIVER = Row(task="deliver", run="deliver-piece-{piece.index:05d}", retries=0)
PIECE = "{shard.name}-{fetched.piece}"

STAGES: dict[Callable[..., Any], Row] = {
    plan: Row(task="plan", run="plan"),
    fetch: Row(task="fetch", run="fetch-{shard.name}", chain=INGEST),
    clean_and_sign: Row(task="ingest", run=f"ingest-{PIECE}", retries=0, failure=PIECE),
    clean: Row(task="clean", run="clean-{fetched.name}"),
    sign: Row(task="sign", run="sign-{cleaned.name}"),
    recall: Row(task="recall", run="recall-{number:05d}"),
    find: Row(task="find", run="find-{search.index:05d}"),
    decide: Row(task="decide", run="decide"),
    name: Row(task="name", run="name-{number:05d}"),
    sign_spans: Row(task="sign_spans", run="sign-spans-{cleaned.name}"),
    find_spans: Row(task="find_spans", run="find-spans-{number:05d}"),
    trim: Row(task="trim", run="trim-{cleaned.name}"),
    vocabulary: Row(task="vocabulary", run="vocabulary"),
    obtain: Row(task="train", run="train", tag="vocabulary"),
    order: Row(task="order", run="order"),
    survey: Row(task="survey", run="survey"),
    tokenize: Row(task="tokenize", run="tokenize-{cleaned.name}"),
    texts: Row(task="texts", run="texts-{cleaned.name}"),
    mix: Row(task="mix", run="mix"),
    pack: Row(task="pack", run="pack-piece-{piece.index:05d}", chain=DELIVER),
    upload: Row(task="upload", run="upload-{file.format}-{file.index:05d}"),
}


def row_of(call: partial[Any]) -> Row:
    """The row of a call's stage or job."""
    return STAGES[call.func]
