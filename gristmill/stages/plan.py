"""List the input, number it, and see what it needs and what is done already."""

from gristmill import ledger, places
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError, NoSpaceError
from gristmill.formats.base import Format
from gristmill.places import Place
from gristmill.reporting.tables import passed_over_lines
from gristmill.sources.base import Inputs
from gristmill.stages import clean, fetch
from gristmill.stages.generations import arrivals
from gristmill.types import DANGLING, Plan, ShardRef

EXPANSION = {".gz": 4, ".zst": 5, ".bz2": 5, ".xz": 6, ".parquet": 3}
"""Bytes of text per byte of file; web text compresses 3 to 6 times. Anything else counts as plain."""

WORK_SHARE = 1.5
"""Work area per byte of text: tokens twice (0.73 each)."""

COPY_SHARE = {"plain": 1.0, "lz4": 0.5}
"""The same for a copy of the text: one as it was read, one more where rules change it."""

SIDE_SHARE = 0.7
"""Work area per byte of text for every further side of the end of text: its ids are packed once more."""

TEXT_SHARE = 2.0
"""The same for a format that holds text, which is grouped and packed uncompressed."""

OUTPUT_SHARE = 0.75
"""Output per byte of text and format: 2 bytes an id at 2.8 bytes of text an id, the densest text measured."""


def plan(config: PrepareConfig) -> Plan:
    """What has arrived since the data set was last published, in global order, with the disk budget.

    Raises ``InputError`` when a source has nothing to read, ``ConfigError`` when the output holds something else.
    """
    work, output = places.at(config.execution.work), places.at(config.destination)
    _check_apart(config, [work, output])
    found = listed(config)
    check_listed(found, config)
    _check_outside(found.shards, [work, output])
    arrived = arrivals(found.shards, config)
    shards = arrived.shards
    text = expected_text(shards, config)
    return Plan(
        generation=arrived.generation,
        shards=shards,
        removed=arrived.removed,
        passed_over=found.passed_over,
        done=done(shards, config),
        text_bytes=text,
        work_bytes=int(text * _work_share(config)),
        output_bytes=int(text * OUTPUT_SHARE * sum(_width(format) for format in config.formats)),
        work_free=work.free_bytes(),
        output_free=output.free_bytes(),
    )


def _work_share(config: PrepareConfig) -> float:
    sides = {format.eot for format in config.formats if format.holds == "tokens"}
    copies = 2 if any(config.rules(source.label) for source in config.sources) else 1
    text = copies * COPY_SHARE[config.execution.kept()]
    return WORK_SHARE + text + SIDE_SHARE * max(0, len(sides) - 1) + TEXT_SHARE * config.holds_text


def _width(format: Format) -> float:
    """How much a format takes, against 2 bytes an id; text is compressed to less, and a mask is a byte an id."""
    return max(1.0, format.dtype(1 << 15).itemsize / 2) + len(format.masks("", iter(()))) / 2


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
            if places.lies_in(shard.uri, folder.uri):
                raise ConfigError(
                    f"{shard.uri} lies in {folder.uri}, where this run writes; put work and output outside of the input"
                )


def expected_text(shards: list[ShardRef], config: PrepareConfig) -> int:
    """Bytes of text that shards should give, from their sizes, their names, the sample rate of their source and their
    shares of a limit in bytes."""
    rates = {source.label: source.sample_rate or 1 for source in config.sources}
    return sum(_expected(shard, rates[shard.source]) for shard in shards)


def _expected(shard: ShardRef, rate: float) -> int:
    name = shard.uri.lower()
    factor = next((factor for suffix, factor in EXPANSION.items() if name.endswith(suffix)), 1)
    text = int(shard.size * factor * rate)
    return min(text, (shard.take or {}).get("bytes", text))


def done(shards: list[ShardRef], config: PrepareConfig) -> dict[str, int]:
    """How many shards each per-shard stage has finished in the work area, all their pieces included."""
    work = places.at(config.execution.work)
    counts = {"fetch": 0, "clean": 0}
    for shard in shards:
        key = ledger.fingerprint("fetch", fetch.inputs(shard, config))
        fetched = ledger.present(work.where(f"fetch/{key}"))
        if fetched is None:
            continue
        pieces = range(fetched.details["pieces"])
        cleaned = [ledger.fingerprint("clean", clean.inputs(shard, key, piece, config)) for piece in pieces]
        counts["fetch"] += 1
        counts["clean"] += all(ledger.present(work.where(f"clean/{name}")) is not None for name in cleaned)
    return counts


def check_space(plan: Plan, config: PrepareConfig) -> None:
    """Raises ``NoSpaceError`` when the plan cannot fit; what is done already is not counted again."""
    smaller = " or set execution.work_files: lz4" if config.execution.kept() == "plain" else ""
    left = 1 - plan.done["clean"] / max(1, len(plan.shards))
    needs = [
        ("work area", config.execution.work, plan.work_bytes * left, plan.work_free, f"--work{smaller}"),
        ("output", config.destination, plan.output_bytes * left, plan.output_free, "--output"),
    ]
    for what, place, need, free, option in needs:
        if free is not None and need > free:
            raise NoSpaceError(
                f"{what} {place}: about {need / 1e9:.1f} GB needed, {free / 1e9:.1f} GB free; "
                f"free some, or choose another place with {option}"
            )
