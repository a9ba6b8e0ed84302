"""Write the manifest, last, after everything that it lists is in place and adds up."""

from contextlib import suppress

import msgspec

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.errors import BusyError, ConfigError, StorageError, VerificationError
from gristmill.manifest import joined, read_manifest, seal, strangers
from gristmill.stages.ingest.generations import check_sizes, latest, point, speaks_of_last, upto, withdrawn
from gristmill.stages.output.claiming import claimed, finish, put
from gristmill.stages.output.upload import published_file
from gristmill.stages.publish.attachments import Content, attached, attachments
from gristmill.stages.publish.losses import losses
from gristmill.stages.publish.pages import pages, place_card
from gristmill.stages.publish.renamed import check_new
from gristmill.stages.publish.results import Results, manifest_of, nothing
from gristmill.stages.publish.tombstones import tombstones
from gristmill.stages.tokens.mix import counts_of
from gristmill.storage import claims, stores
from gristmill.storage.background import each
from gristmill.storage.claims import Claim
from gristmill.types import Artifact, Manifest, Plan, PublishedFile, file_name


def publish(results: Results, config: PrepareConfig) -> Manifest:
    """Check that all counts add up, put the further files in place, clear away what a kill left, write the manifest
    last and return it.

    Raises ``VerificationError`` when published counts differ from the reports, ``ConfigError`` when the generation is
    finished and says something else.
    """
    stores.at(config.destination).sweep()  # of a run that was killed while it published
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
    uploaded = [report.artifacts["file"] for report in results.uploaded]
    _check_there(uploaded, config)
    further = attachments(results, joined(before, added), config)
    return _finished(added, before, uploaded, further, results.claim, config)


def _finished(
    added: Manifest,
    before: Manifest | None,
    uploaded: list[Artifact],
    further: dict[str, Content],
    claim: Claim,
    config: PrepareConfig,
) -> Manifest:
    """Put the further files of a generation in place, compare all of it once more, then put its manifest."""
    name = file_name("tombstones/removed.json", added.generations[-1].number)
    if added.generations[-1].removed and config.on_removed == "tombstone":
        generation = msgspec.structs.replace(added.generations[-1], tombstones=name)
        added = msgspec.structs.replace(added, generations=[generation])
    further |= _described(joined(before, added), before, further, config)
    listed = [attached(path, further[path]) for path in sorted(further)]
    added = seal(msgspec.structs.replace(added, attachments=listed))
    manifest = seal(joined(before, added))
    _check_alone(manifest, config)
    _put(further, claim, config)
    if stores.is_remote(config.destination):  # on a disk the claim is locked, and nobody can have come meanwhile
        _check_there(uploaded, config)
    check_sizes(manifest, config)
    finish(added, manifest, claim, config)
    check_sizes(manifest, config)
    place_card(config)
    return manifest


def _described(
    manifest: Manifest, before: Manifest | None, further: dict[str, Content], config: PrepareConfig
) -> dict[str, Content]:
    """Tombstones of the last generation, and the pages of all."""
    last = manifest.generations[-1]
    found = {last.tombstones: tombstones(last.removed, manifest, config)} if last.tombstones else {}
    earlier = [entry.path for entry in before.attachments] if before else []
    return {**found, **pages(manifest, earlier, {**further, **found}, config)}


def stand(planned: Plan, config: PrepareConfig) -> Manifest:
    """Nothing has arrived: the data set as it is, its last steps taken where a kill prevented them. Where input is gone
    and tombstones are asked for, a generation of nothing else."""
    place = stores.at(config.destination)
    place.sweep()  # of a run that was killed while it moved the pointer
    if planned.removed and config.on_removed == "tombstone":
        with claimed(planned, config) as claim:
            return _removed(planned, claim, config)
    if claims.found(config.destination) is not None or not speaks_of_last(config.destination):
        with suppress(BusyError), claimed(planned, config):  # else another run is at work, on the next generation
            point(_last(config), config)
    place_card(config)
    return read_manifest(config.destination)


def _last(config: PrepareConfig) -> Manifest:
    found = latest(config.destination)
    assert found is not None, "a first generation always has something to do"
    return found


def _removed(planned: Plan, claim: Claim, config: PrepareConfig) -> Manifest:
    """A generation of tombstones alone, unless a run of the same input was first."""
    found = _last(config)
    if len(found.generations) < planned.generation:
        return _finished(nothing(planned, found), found, [], {}, claim, config)
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
    made, earlier = upto(results.generation, config.destination), upto(results.generation - 1, config.destination)
    assert made is not None
    wanted = {entry.path: entry for entry in before.attachments}
    further = {path: content for path, content in attachments(results, made, config).items() if path in wanted}
    for path, content in further.items():
        if attached(path, content) != wanted[path]:
            raise ConfigError(f"{config.destination}: {path} is finished and was made from other input")
    described = _described(made, earlier, further, config)
    further |= {path: found for path, found in described.items() if attached(path, found) == wanted.get(path)}
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


def _check_alone(manifest: Manifest, config: PrepareConfig) -> None:
    """A run under other rules may have been killed after some of its files: validation text, perhaps, that is in the
    train file now."""
    for name in strangers(config.destination, manifest):
        where = stores.at(config.destination).where(name)
        raise ConfigError(f"{where} belongs to no finished data set; remove it, or choose another --output")


def _check_there(uploaded: list[Artifact], config: PrepareConfig) -> None:
    """Something else may have replaced what this run put there."""
    each(_check_whole, uploaded, config.execution.worker_count())


def _check_whole(artifact: Artifact) -> None:
    if not ledger.is_whole(artifact):
        raise StorageError(
            f"{artifact.uri}: changed, moved or removed since this run put it there; put it back, or run again"
        )


def _check_counts(files: list[PublishedFile], results: Results, config: PrepareConfig) -> None:
    for format in config.formats:
        reports = format.made_of(results.tokenized, results.texts)
        # Not docs_out: a document that a character split cuts ends in both files.
        counts = counts_of(format, reports, results.mixed).values()
        documents, ids = (sum(column) for column in zip((0, 0), *counts, strict=True))
        eos = documents if format.eot != "none" else 0
        own = [file for file in files if file.format == format.kind()]
        rest = results.layout.rest[format.kind()]
        rows = results.rows(format.kind())
        absent = sum(row["absent"] for row in rows)
        rest += sum(row["cropped"] + row["left"] for row in rows)
        counted = {"ids": sum(file.tokens for file in own) + rest, "EOS": sum(file.eos for file in own)}
        expected = {"ids": ids + eos, "EOS": eos - absent}
        if counted["ids"] != expected["ids"] or not expected["EOS"] - rest <= counted["EOS"] <= expected["EOS"]:
            raise VerificationError(
                f"{format.kind()}: published files hold {counted}, {rest} ids left out among them; "
                f"the shards gave {expected}"
            )
