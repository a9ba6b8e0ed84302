"""Output: lay out the files, pack their pieces, put each file in place, add everything up."""

from functools import partial
from threading import Lock

from gristmill.config import PrepareConfig
from gristmill.phases.dedup import Deduplicated
from gristmill.phases.ingest import Ingested
from gristmill.phases.tokens import Tokenized
from gristmill.runners.base import Chain, Runner, raise_failed
from gristmill.stages.output.layout import layout
from gristmill.stages.output.pack import pack
from gristmill.stages.output.upload import upload
from gristmill.stages.publish.results import Results
from gristmill.storage.claims import Claim
from gristmill.types import Layout, PlannedFile, StageReport, Value


class Delivered(Value, frozen=True, kw_only=True):
    """The packed pieces and the uploaded files, both in order."""

    layout: Layout
    pieces: list[StageReport]
    uploaded: list[StageReport]


def deliver(tokenized: Tokenized, claim: Claim, config: PrepareConfig, runner: Runner) -> Delivered:
    """Lay out every output file, now that all counts are known, and fan out over their pieces.

    A file is uploaded as soon as its pieces are packed, while others still are.
    """
    tokens, texts = tokenized.pieces, tokenized.texts
    planned = layout(tokenized.generation, tokens, texts, tokenized.arranged, tokenized.mixed, config)
    uploads = _Uploads(planned, tokenized, claim, config)
    chain = Chain(
        calls=pack_calls(planned, tokens, texts, tokenized.tokenizer, tokenized.mixed, config),
        ended=uploads.ended,
        stages=["pack", "upload"],
        expected=len(planned.files),
    )
    links = runner.chain(chain)
    raise_failed([failure for link in links for failure in link.failures])
    uploaded: list[StageReport] = [report for link in links for report in link.then]
    return Delivered(
        layout=planned,
        pieces=[link.first for link in links],
        uploaded=sorted(uploaded, key=lambda report: report.shard),
    )


def pack_calls(
    planned: Layout,
    tokens: list[StageReport],
    texts: list[StageReport],
    tokenizer: StageReport,
    mixed: StageReport | None,
    config: PrepareConfig,
) -> list[partial[StageReport]]:
    """A call for every piece of the files: of ids, or of text for a format that holds text."""
    return [
        partial(
            pack,
            piece=piece,
            tokenized=texts if config.format(piece.format).holds == "text" else tokens,
            tokenizer=tokenizer,
            mixed=mixed,
            config=config,
        )
        for piece in planned.pieces
    ]


class _Uploads:
    """The files of a layout, each of which is uploaded when its last piece is packed."""

    def __init__(self, planned: Layout, tokenized: Tokenized, claim: Claim, config: PrepareConfig) -> None:
        self._files = {number: file for file in planned.files for number in file.pieces}
        self._packed: dict[int, StageReport] = {}
        self._lock = Lock()
        self._tokenized, self._claim, self._config = tokenized, claim, config

    def ended(self, call: partial[StageReport], report: StageReport) -> list[partial[StageReport]]:
        """The upload of the file of which this was the last piece to be packed; none where others are missing."""
        index = call.keywords["piece"].index
        file: PlannedFile = self._files[index]
        with self._lock:
            self._packed[index] = report
            if not all(number in self._packed for number in file.pieces):
                return []
        return [
            partial(
                upload,
                generation=self._tokenized.generation,
                file=file,
                packed=[self._packed[number] for number in file.pieces],
                tokenizer=self._tokenized.tokenizer,
                claim=self._claim,
                config=self._config,
            )
        ]


def results(
    ingested: Ingested, dropped: Deduplicated, tokenized: Tokenized, delivered: Delivered, claim: Claim
) -> Results:
    """Every report of a run."""
    return Results(
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
        tokenized=tokenized.pieces,
        texts=tokenized.texts,
        mixed=tokenized.mixed,
        surveyed=tokenized.surveyed,
        layout=delivered.layout,
        packed=delivered.pieces,
        uploaded=delivered.uploaded,
        failed=ingested.failed,
    )
