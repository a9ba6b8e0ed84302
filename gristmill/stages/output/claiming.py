"""Who may change an output: the run that holds its claim puts files there, then the manifest of its generation."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from gristmill.config import PrepareConfig
from gristmill.errors import BusyError, ConfigError, GristmillError, OccupiedError
from gristmill.manifest import decoded, encoded, listed_bytes
from gristmill.stages.ingest.generations import check_same, finished, key_of, latest, point, same_shards
from gristmill.storage import claims, disk, holding, stores
from gristmill.storage.claims import Claim
from gristmill.types import Artifact, Manifest, Plan, ShardRef, SourceShard

FOLDERS = ("documents", "report", "tokenizer")
"""Of an output, beside one for each format."""


@contextmanager
def claimed(planned: Plan, config: PrepareConfig) -> Iterator[Claim]:
    """Around a run that changes the output. Raises ``BusyError`` when another run is at work there, or has ended since
    this one was planned."""
    given = _given(planned.generation, planned.shards, planned.removed)
    claim = claims.claim_of(config.dataset, planned.generation, config.settings(), given)
    settle, is_untouched = partial(_settle, config=config), lambda: not _unlisted(config)
    with holding.held(config.destination, claim, settle, is_untouched) as stopped:
        outdated = _outdated(planned, config)
        if outdated is None:
            if stopped is not None and stopped.run:
                _clear(claim, config)
            with _told_of_others(claim, config), disk.translated(Path(config.execution.work)):
                yield claim
    if outdated is not None:  # with the claim taken back: nothing was done under it
        raise outdated


def _given(generation: int, shards: Sequence[ShardRef | SourceShard], removed: list[int]) -> list[object]:
    """What a generation is made of."""
    return [generation, [[*key_of(shard), shard.identity] for shard in shards], removed]


def _settle(manifest: bytes, config: PrepareConfig) -> None:
    """Put the manifest that a stopped run had decided on."""
    with suppress(BusyError):
        _put_manifest(decoded(manifest, stores.at(config.destination).where(claims.UNFINISHED)), config)
    finished_all = latest(config.destination)
    assert finished_all is not None
    point(finished_all, config)


def _outdated(planned: Plan, config: PrepareConfig) -> ConfigError | None:
    before = latest(config.destination)
    if before is None or len(before.generations) < planned.generation:
        return None
    try:
        check_same(before, config)
    except ConfigError as error:
        return error
    read = {key_of(row): row for row in before.source_shards if row.generation == planned.generation}
    there = {key_of(shard): shard for shard in planned.shards}
    return None if read.keys() == there.keys() == same_shards(there, read) else _late(planned.generation, config)


def _late(generation: int, config: PrepareConfig) -> BusyError:
    return BusyError(
        f"{config.destination}: another run finished generation {generation} meanwhile; run again: what is new is added"
    )


def _unlisted(config: PrepareConfig) -> list[str]:
    """Files in the folders of a data set that no manifest lists."""
    place, before = stores.at(config.destination), latest(config.destination)
    listed = {} if before is None else listed_bytes(before)
    folders = [*FOLDERS, *(format.kind() for format in config.formats)]
    return [name for folder in folders for name in place.names(folder) if name not in listed]


def _clear(claim: Claim, config: PrepareConfig) -> None:
    """Remove what a stopped run of the same data set left: this one may not have these files, and a trainer's glob
    would pick them up."""
    for name in _unlisted(config):
        with holding.putting(config.destination, claim):
            stores.at(config.destination).remove(name)


@contextmanager
def _changing(claim: Claim, config: PrepareConfig) -> Iterator[bool]:
    """Around each step that changes the output; given is whether the claim is there, and not only that of a run which
    shared it and has ended."""
    with holding.putting(config.destination, claim) as is_there:
        if not is_there:
            _check_twin(claim, config)
        yield is_there


@contextmanager
def _told_of_others(claim: Claim, config: PrepareConfig) -> Iterator[None]:
    """Whoever fails because another run took the output over is told so, not which file was missing then."""
    try:
        yield
    except GristmillError:
        with _changing(claim, config):
            raise


def _check_twin(claim: Claim, config: PrepareConfig) -> None:
    """Raises ``ConfigError`` unless the generation was finished by a run of the same rules and input."""
    before = latest(config.destination)
    if before is None or len(before.generations) < claim.generation:
        raise claims.lost(stores.at(config.destination), None)
    check_same(before, config)
    rows = [row for row in before.source_shards if row.generation == claim.generation]
    removed = before.generations[claim.generation - 1].removed
    if not claim.is_made_of(_given(claim.generation, rows, removed)):
        raise _late(claim.generation, config)


def put(name: str, parts: list[Path], prefix: bytes, claim: Claim, config: PrepareConfig) -> Artifact:
    """Publish a file. One of other bytes that no manifest lists was left by a stopped run, and is replaced.

    Raises ``OccupiedError`` when a finished generation has the name for another file, ``BusyError`` when the output is
    no longer this run's.
    """
    place = stores.at(config.destination)
    with _told_of_others(claim, config):
        try:
            with _changing(claim, config):
                return place.publish(name, parts, prefix)
        except OccupiedError:
            version = place.version(name)  # before the claim is looked at: what comes later is another run's
            with _changing(claim, config):
                before = latest(config.destination)
                if before is not None and name in listed_bytes(before):
                    raise
                return place.replace(name, version, parts, prefix)


def finish(added: Manifest, manifest: Manifest, claim: Claim, config: PrepareConfig) -> None:
    """Put the manifest of a generation in place for good, and that of all of them. Raises ``BusyError`` when another
    run finished the generation."""
    with _changing(claim, config) as is_there:
        if is_there:
            holding.decide(config.destination, claim, encoded(added))
    _put_manifest(added, config)
    point(manifest, config)


def _put_manifest(added: Manifest, config: PrepareConfig) -> None:
    number = added.generations[-1].number
    try:
        stores.at(config.destination).publish(finished(number), [], encoded(added))
    except OccupiedError:
        raise _late(number, config) from None
