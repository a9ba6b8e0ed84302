"""List the input, number it, and see what it needs and what is done already."""

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError, NoSpaceError
from gristmill.reporting.tables import gigabytes, passed_over_lines
from gristmill.sources.base import Inputs
from gristmill.stages.dedup import sign
from gristmill.stages.ingest import clean, fetch
from gristmill.stages.ingest.first_rows import first_rows
from gristmill.stages.ingest.generations import arrivals
from gristmill.stages.publish.budget import budget
from gristmill.storage import stores
from gristmill.storage.stores import Place
from gristmill.types import DANGLING, Plan, ShardRef


def plan(config: PrepareConfig) -> Plan:
    """What has arrived since the data set was last published, in global order, with the disk budget.

    Raises ``InputError`` when a source has nothing to read or its first file has no text by the name that is asked for,
    ``ConfigError`` when the output holds something else.
    """
    work, output = stores.at(config.execution.work), stores.at(config.destination)
    _check_apart(config, [work, output])
    found = listed(config)
    check_listed(found, config)
    _check_outside(found.shards, [work, output])
    arrived = arrivals(found.shards, config)
    shards = arrived.shards
    return Plan(
        generation=arrived.generation,
        shards=shards,
        removed=arrived.removed,
        passed_over=found.passed_over,
        first_rows=first_rows(shards, config),
        done=done(shards, config),
        budget=budget(shards, config),
        work_free=work.free_bytes(),
        output_free=output.free_bytes(),
    )


def listed(config: PrepareConfig) -> Inputs:
    """Every shard of all sources, in global order; their numbers are those within each source."""
    found = [source.inputs() for source in config.sources]
    return Inputs(
        shards=[shard for inputs in found for shard in inputs.shards],
        passed_over=[row for inputs in found for row in inputs.passed_over],
    )


def check_listed(found: Inputs, config: PrepareConfig) -> None:
    """Raises ``InputError`` for what the configuration does not let pass: a link that leads nowhere
    (``on_bad_file: fail``), files that are passed over (``on_skipped: fail``)."""
    broken = next((shard for shard in found.shards if shard.identity == DANGLING), None)
    if broken is not None and config.on_bad_file == "fail":
        raise InputError(f"{broken.uri}: a {DANGLING}; repair or remove it, or set on_bad_file: quarantine")
    if found.passed_over and config.on_skipped == "fail":
        raise InputError(
            f"{'; '.join(passed_over_lines(found.passed_over))}; remove them, name what to read by a glob, or set "
            "on_skipped: report"
        )


def _check_apart(config: PrepareConfig, folders: list[Place]) -> None:
    """What a run writes must not become the input of the next one: seen before anything is written."""
    for source in config.sources:
        for folder in folders:
            if source.reaches(folder.uri):
                raise ConfigError(
                    f"{folder.uri}, where this run writes, lies in the input of source {source.label}; put work and "
                    "output outside of the input"
                )


def _check_outside(shards: list[ShardRef], folders: list[Place]) -> None:
    """The input must not lie in what a run writes: it could be removed as a leftover, or replaced."""
    for shard in shards:
        for folder in folders:
            if stores.lies_in(shard.uri, folder.uri):
                raise ConfigError(
                    f"{shard.uri} lies in {folder.uri}, where this run writes; put work and output outside of the input"
                )


def done(shards: list[ShardRef], config: PrepareConfig) -> dict[str, int]:
    """How many shards each per-shard stage has finished in the work area, all their pieces included."""
    work = stores.at(config.execution.work)
    counts = {"fetch": 0, "clean": 0, "sign": 0}
    for shard in shards:
        key = ledger.fingerprint("fetch", fetch.inputs(shard, config))
        fetched = ledger.present(work.where(f"fetch/{key}"))
        if fetched is None:
            continue
        pieces = range(fetched.details["pieces"])
        cleaned = [ledger.fingerprint("clean", clean.inputs(shard, key, piece, config)) for piece in pieces]
        counts["fetch"] += 1
        signed = [ledger.fingerprint("sign", sign.inputs(shard, name, config)) for name in cleaned]
        for stage, names in (("clean", cleaned), ("sign", signed)):
            counts[stage] += all(ledger.present(work.where(f"{stage}/{name}")) is not None for name in names)
    return counts


def check_space(plan: Plan, config: PrepareConfig) -> list[str]:
    """A warning for each place in which the plan may not fit; what is done already is not counted again. Raises
    ``NoSpaceError`` where it cannot fit."""
    smaller = " or set execution.work_files: lz4" if config.execution.kept() == "plain" else ""
    left = 1 - plan.done["clean"] / max(1, len(plan.shards))
    found, warnings = plan.budget, []
    needs = [
        ("work area", config.execution.work, found.work_bytes, found.work_least, plan.work_free, f"--work{smaller}"),
        ("output", config.destination, found.output_bytes, found.output_least, plan.output_free, "--output"),
    ]
    for what, place, need, least, free, option in needs:
        if free is None or need * left <= free:
            continue
        short = (
            f"{what} {place}: about {gigabytes(need * left)} needed, {gigabytes(least * left)} at least, "
            f"{gigabytes(free)} free; free some, or choose another place with {option}"
        )
        if least * left > free:
            raise NoSpaceError(short)
        warnings.append(short)
    return warnings
