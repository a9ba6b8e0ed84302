"""Write the manifest, last, after everything that it lists is in place and adds up."""

import msgspec

from gristmill import ledger, places
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, StorageError, VerificationError
from gristmill.manifest import read_manifest, seal, strangers
from gristmill.stages.attachments import Content, attached, attachments
from gristmill.stages.generations import finish, latest, point, put
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
    added = manifest_of(files, results, losses(results, config), config)
    manifest = added if before is None else joined(before, added)
    _check_there(results, config)
    return _finished(manifest, before, results.removed, attachments(results, manifest, config), config)


def _finished(
    manifest: Manifest,
    before: Manifest | None,
    removed: list[int],
    further: dict[str, Content],
    config: PrepareConfig,
) -> Manifest:
    """Put the further files of a generation in place, then its manifest."""
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
    _put(further, config)
    finish(manifest, config)
    place_card(config)
    return manifest


def stand(planned: Plan, config: PrepareConfig) -> Manifest:
    """Nothing has arrived: the data set as it is, its last steps taken where a kill prevented them. Where input is gone
    and tombstones are asked for, a generation of nothing else."""
    places.at(config.destination).sweep()  # of a run that was killed while it moved the pointer
    found = latest(config.destination)
    assert found is not None, "a first generation always has something to do"
    if planned.removed and config.on_removed == "tombstone":
        return _finished(joined(found, nothing(planned, found)), found, planned.removed, {}, config)
    point(found, config)
    place_card(config)
    return read_manifest(config.destination)


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
    _put(further, config)
    point(before, config)
    place_card(config)
    return read_manifest(config.destination)


def _put(further: dict[str, Content], config: PrepareConfig) -> None:
    for path, content in further.items():
        if isinstance(content, bytes):
            put(path, [], content, config)
        else:
            put(path, content, b"", config)


def _entombed(manifest: Manifest, name: str) -> Manifest:
    *others, last = manifest.generations
    return msgspec.structs.replace(manifest, generations=[*others, msgspec.structs.replace(last, tombstones=name)])


def _check_alone(manifest: Manifest, config: PrepareConfig) -> None:
    """A run under other rules may have been killed after some of its files: validation text, perhaps, that is in the
    train file now."""
    for name in strangers(config.destination, manifest):
        where = places.at(config.destination).where(name)
        raise ConfigError(f"{where} belongs to no finished data set; remove it, or choose another --output")


def _check_there(results: Results, config: PrepareConfig) -> None:
    """Another run on the same output, with other input, may have replaced what this one put there."""
    artifacts = [report.artifacts["file"] for report in results.uploaded]
    each(_check_whole, artifacts, config.execution.worker_count())


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
