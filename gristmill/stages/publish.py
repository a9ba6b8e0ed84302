"""Write the manifest, last, after everything that it lists is in place and adds up."""

from contextlib import suppress

import msgspec

from gristmill import claims, ledger, places
from gristmill.claims import Claim
from gristmill.config import PrepareConfig
from gristmill.errors import BusyError, ConfigError, StorageError, VerificationError
from gristmill.manifest import exists, read_manifest, seal, strangers
from gristmill.stages.attachments import Content, attached, attachments
from gristmill.stages.changes import check_new
from gristmill.stages.claiming import claimed, finish, put
from gristmill.stages.generations import check_sizes, latest, point, withdrawn
from gristmill.stages.losses import losses
from gristmill.stages.mix import counts_of
from gristmill.stages.pages import pages, place_card
from gristmill.stages.results import Results, joined, manifest_of, nothing
from gristmill.stages.tombstones import tombstones
from gristmill.stages.upload import published_file
from gristmill.threads import each
from gristmill.types import Artifact, Manifest, Plan, PublishedFile, file_name


def publish(results: Results, config: PrepareConfig) -> Manifest:
    """Check that all counts add up, put the further files in place, clear away what a kill left, write the manifest
    last and return it.

    Raises ``VerificationError`` when published counts differ from the reports, ``ConfigError`` when the generation is
    finished and says something else.
    """
    places.at(config.destination).sweep()  # of a run that was killed while it published
    files = [published_file(report) for report in results.uploaded]
    _check_counts(files, results, config)
    before = latest(config.destination)
    if before is not None and len(before.generations) >= results.generation:
        return _again(before, files, results, config)
    if before is not None:
        earlier = {index for generation in before.generations for index in generation.removed} - withdrawn(before)
        gone = [row for row in before.source_shards if row.index in earlier.union(results.removed)]
        check_new(results, gone, config)
    added = manifest_of(files, results, losses(results, config), config)
    manifest = added if before is None else joined(before, added)
    uploaded = [report.artifacts["file"] for report in results.uploaded]
    _check_there(uploaded, config)
    further = attachments(results, manifest, config)
    return _finished(manifest, before, results.removed, uploaded, further, results.claim, config)


def _finished(
    manifest: Manifest,
    before: Manifest | None,
    removed: list[int],
    uploaded: list[Artifact],
    further: dict[str, Content],
    claim: Claim,
    config: PrepareConfig,
) -> Manifest:
    """Put the further files of a generation in place, compare all of it once more, then put its manifest."""
    number = len(manifest.generations)
    if removed and config.on_removed == "tombstone":
        name = file_name("tombstones/removed.json", number)
        further[name] = tombstones(removed, manifest, config)
        manifest = _entombed(manifest, name)
    listed = {entry.path: entry for entry in before.attachments} if before else {}
    further |= pages(manifest, list(listed), further, config)
    listed |= {path: attached(path, content) for path, content in further.items()}
    manifest = seal(msgspec.structs.replace(manifest, attachments=[listed[path] for path in sorted(listed)]))
    _check_alone(manifest, config)
    _put(further, claim, config)
    if places.is_remote(config.destination):  # on a disk the claim is locked, and nobody can have come meanwhile
        _check_there(uploaded, config)
    check_sizes(manifest, config)
    finish(manifest, claim, config)
    check_sizes(manifest, config)
    place_card(config)
    return manifest


def stand(planned: Plan, config: PrepareConfig) -> Manifest:
    """Nothing has arrived: the data set as it is, its last steps taken where a kill prevented them. Where input is gone
    and tombstones are asked for, a generation of nothing else."""
    place = places.at(config.destination)
    place.sweep()  # of a run that was killed while it moved the pointer
    if planned.removed and config.on_removed == "tombstone":
        with claimed(planned, config) as claim:
            return _removed(planned, claim, config)
    if claims.found(config.destination) is not None or not _speaks_of_last(config):
        with suppress(BusyError), claimed(planned, config):  # else another run is at work, on the next generation
            point(_last(config), config)
    place_card(config)
    return read_manifest(config.destination)


def _last(config: PrepareConfig) -> Manifest:
    found = latest(config.destination)
    assert found is not None, "a first generation always has something to do"
    return found


def _speaks_of_last(config: PrepareConfig) -> bool:
    """Whether ``manifest.json`` speaks of the last generation."""
    return exists(config.destination) and read_manifest(config.destination) == _last(config)


def _removed(planned: Plan, claim: Claim, config: PrepareConfig) -> Manifest:
    """A generation of tombstones alone, unless a run of the same input was first."""
    found = _last(config)
    if len(found.generations) < planned.generation:
        return _finished(joined(found, nothing(planned, found)), found, planned.removed, [], {}, claim, config)
    point(found, config)
    return found


def _again(before: Manifest, files: list[PublishedFile], results: Results, config: PrepareConfig) -> Manifest:
    """A generation whose files were lost is the same again, or it is an error."""
    listed = [file for file in before.files if file.generation == results.generation]
    if files != listed:
        raise ConfigError(
            f"{config.destination}: generation {results.generation} is finished and was made from other input; "
            "choose another --output"
        )
    wanted = {entry.path: entry for entry in before.attachments}
    further = {path: content for path, content in attachments(results, before, config).items() if path in wanted}
    for path, content in further.items():
        if attached(path, content) != wanted[path]:
            raise ConfigError(f"{config.destination}: {path} is finished and was made from other input")
    _put(further, results.claim, config)
    point(before, config)
    check_sizes(before, config)
    place_card(config)
    return read_manifest(config.destination)


def _put(further: dict[str, Content], claim: Claim, config: PrepareConfig) -> None:
    for path, content in further.items():
        if isinstance(content, bytes):
            put(path, [], content, claim, config)
        else:
            put(path, content, b"", claim, config)


def _entombed(manifest: Manifest, name: str) -> Manifest:
    *others, last = manifest.generations
    return msgspec.structs.replace(manifest, generations=[*others, msgspec.structs.replace(last, tombstones=name)])


def _check_alone(manifest: Manifest, config: PrepareConfig) -> None:
    """A run under other rules may have been killed after some of its files: validation text, perhaps, that is in the
    train file now."""
    for name in strangers(config.destination, manifest):
        where = places.at(config.destination).where(name)
        raise ConfigError(f"{where} belongs to no finished data set; remove it, or choose another --output")


def _check_there(uploaded: list[Artifact], config: PrepareConfig) -> None:
    """Something else may have replaced what this run put there."""
    each(_check_whole, uploaded, config.execution.worker_count())


def _check_whole(artifact: Artifact) -> None:
    if not ledger.is_whole(artifact):
        raise StorageError(f"{artifact.uri}: changed by another run")


def _check_counts(files: list[PublishedFile], results: Results, config: PrepareConfig) -> None:
    for format in config.formats:
        reports = results.texts if format.holds == "text" else results.tokenized
        # Not docs_out: a document that a character split cuts ends in both files.
        counts = counts_of(reports, format.holds, results.mixed).values()
        documents, ids = (sum(column) for column in zip((0, 0), *counts, strict=True))
        eos = documents if format.eot != "none" else 0
        own = [file for file in files if file.format == format.kind()]
        rest = results.layout.rest[format.kind()]
        rows = [found for report in results.uploaded if (found := report.details["rows"]) and format.holds == "rows"]
        absent = sum(row["absent"] for row in rows)
        rest += sum(row["cropped"] + row["left"] for row in rows)
        counted = {"ids": sum(file.tokens for file in own) + rest, "EOS": sum(file.eos for file in own)}
        expected = {"ids": ids + eos, "EOS": eos - absent}
        if counted["ids"] != expected["ids"] or not expected["EOS"] - rest <= counted["EOS"] <= expected["EOS"]:
            raise VerificationError(
                f"{format.kind()}: published files hold {counted}, {rest} ids left out among them; "
                f"the shards gave {expected}"
            )
