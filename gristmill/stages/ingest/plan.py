"""List the input, number it, and look at its first rows."""

from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError
from gristmill.reporting.tables import passed_over_lines
from gristmill.sources.base import Inputs
from gristmill.stages.ingest.first_rows import first_rows
from gristmill.stages.ingest.generations import arrivals
from gristmill.storage import stores
from gristmill.storage.stores import Place
from gristmill.types import DANGLING, Plan, ShardRef


def plan(config: PrepareConfig) -> Plan:
    """What has arrived since the data set was last published, in global order, and how it begins.

    Raises ``InputError`` when a source has nothing to read or its first file has no text by the name that is asked for,
    ``ConfigError`` when the output holds something else.
    """
    work, output = stores.at(config.execution.work), stores.at(config.destination)
    _check_apart(config, [work, output])
    found = listed(config)
    check_listed(found, config)
    _check_outside(found.shards, [work, output])
    arrived = arrivals(found.shards, config)
    return Plan(
        generation=arrived.generation,
        shards=arrived.shards,
        removed=arrived.removed,
        passed_over=found.passed_over,
        first_rows=first_rows(arrived.shards, config),
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
