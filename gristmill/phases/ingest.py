"""Ingest: everything that is done to one input shard before the shards must meet."""

from functools import partial

from msgspec.structs import replace

from gristmill.config import PrepareConfig
from gristmill.errors import InputError, WorkerLost
from gristmill.runners.base import Chain, Link, Run, Runner, raise_failed
from gristmill.stages.dedup.sign import sign
from gristmill.stages.ingest.clean import clean
from gristmill.stages.ingest.fetch import check_quarantined, check_usable, fetch
from gristmill.types import Plan, ShardRef, StageReport, Value

UNUSABLE = (InputError, WorkerLost)
"""Errors for which a shard is left out: it is damaged, or every process that takes it or a piece of it is lost, the
retries included."""


class CleanedPiece(Value, frozen=True, kw_only=True):
    """The reports of one piece of a shard."""

    cleaned: StageReport
    signed: StageReport


class Ingested(Value, frozen=True, kw_only=True):
    """Reports of the shards that could be read and of their pieces, in order."""

    plan: Plan
    fetched: list[StageReport]
    cleaned: list[StageReport]
    signed: list[StageReport]
    failed: dict[int, str]
    """Why the other shards are left out, by their index."""


def ingest(planned: Plan, config: PrepareConfig, runner: Runner) -> Ingested:
    """Fetch every shard; clean and sign each piece as soon as it is announced.

    All shards are tried before one that cannot be used stops the run. With ``on_bad_file: quarantine`` it is left out
    instead, and its pieces with it.
    """
    pieces = _Pieces(config)
    chain = Chain(
        calls=[partial(fetch, shard=shard, config=config) for shard in planned.shards],
        announced=pieces.announced,
        ended=pieces.ended,
        stages=["fetch", "clean", "sign"],
        expected=len(planned.shards),
    )
    return _usable(planned, runner.chain(chain), config)


def clean_and_sign(shard: ShardRef, fetched: StageReport, config: PrepareConfig, run: Run) -> CleanedPiece:
    """A job: the two calls for the piece that ``fetched`` names."""
    cleaned = run(partial(clean, shard=shard, fetched=fetched, piece=fetched.piece, config=config))
    return CleanedPiece(cleaned=cleaned, signed=run(partial(sign, shard=shard, cleaned=cleaned, config=config)))


class _Pieces:
    """The pieces whose work has begun: each once, however often its shard is read."""

    def __init__(self, config: PrepareConfig) -> None:
        self._config = config
        self._begun: set[tuple[int, int]] = set()

    def announced(self, call: partial[StageReport], part: StageReport) -> list[partial[CleanedPiece]]:
        """The job for one piece of a shard that is still read."""
        if (part.shard, part.piece) in self._begun:
            return []
        self._begun.add((part.shard, part.piece))
        return [partial(clean_and_sign, shard=call.keywords["shard"], fetched=part, config=self._config)]

    def ended(self, call: partial[StageReport], fetched: StageReport) -> list[partial[CleanedPiece]]:
        """The jobs for all other pieces."""
        parts = [replace(fetched, piece=piece) for piece in range(fetched.details["pieces"])]
        return [job for part in parts for job in self.announced(call, part)]


def _usable(planned: Plan, links: list[Link], config: PrepareConfig) -> Ingested:
    failed: dict[int, str] = {}
    used: list[Link] = []
    for shard, link in zip(planned.shards, links, strict=True):
        reasons = [str(failure) for failure in link.failures if isinstance(failure, UNUSABLE)]
        if reasons and config.on_bad_file == "quarantine":
            failed[shard.index] = reasons[0]
        else:
            used.append(link)
    raise_failed([failure for link in used for failure in link.failures])
    check_usable(len(planned.shards), failed)
    fetched: list[StageReport] = [link.first for link in used]
    check_quarantined(fetched, config)
    pieces: list[CleanedPiece] = [piece for link in used for piece in link.then]
    return Ingested(
        plan=planned,
        fetched=fetched,
        cleaned=[piece.cleaned for piece in pieces],
        signed=[piece.signed for piece in pieces],
        failed=failed,
    )
