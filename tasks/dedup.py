"""dedup: sign every shard, then find what repeats an earlier document."""

from typing import TYPE_CHECKING

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages import dedup as stage
from gristmill.stages import sign as signing
from gristmill.types import ShardRef, StageReport, Value
from tasks.run import OPTIONS, each, in_worker, raise_failed, watch

if TYPE_CHECKING:
    from tasks.ingest import Ingested


class Reports(Value, frozen=True, kw_only=True):
    """Many reports as one value: Prefect walks through lists of parameters, and a long one would cost seconds."""

    reports: list[StageReport]


@task(name="sign", task_run_name="sign-{shard.name}", tags={"sign", "dedup"}, **OPTIONS)
def sign(shard: ShardRef, cleaned: StageReport, config: PrepareConfig) -> StageReport:
    """A signature for every document of a shard."""
    return in_worker("sign", signing.sign, config, shard=shard, cleaned=cleaned)


@task(name="find", task_run_name="find-range-{number:05d}", tags={"find", "dedup"}, **OPTIONS)
def find(number: int, count: int, signed: Reports, config: PrepareConfig) -> StageReport:
    """The duplicates of one hash range of all shards."""
    return in_worker("find", stage.find, config, number=number, count=count, signed=signed.reports)


@task(name="decide", task_run_name="decide", tags={"decide", "dedup"}, **OPTIONS)
def decide(found: Reports, signed: Reports, config: PrepareConfig) -> StageReport:
    """One verdict for every shard."""
    return in_worker("decide", stage.decide, config, found=found.reports, signed=signed.reports)


def drop_duplicates(ingested: "Ingested", config: PrepareConfig) -> StageReport:
    """Fan out over hash ranges, then decide."""
    signed = Reports(reports=ingested.signed)
    count = stage.ranges(ingested.signed)
    watch.board.begin("find", count)
    watch.board.begin("decide", 1)
    calls = [{"number": number, "count": count, "signed": signed, "config": config} for number in range(count)]
    found = each(find, calls, config)
    raise_failed(found)
    return decide(Reports(reports=found), signed, config)
