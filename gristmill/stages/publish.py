"""Write the manifest, last, after everything that it lists is in place and adds up."""

from pathlib import Path

import msgspec

from gristmill import storage
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, VerificationError
from gristmill.manifest import MANIFEST, read_manifest, seal, strangers
from gristmill.stages.attachments import attached, attachments
from gristmill.stages.results import Results, manifest_of
from gristmill.stages.upload import published_file
from gristmill.types import Manifest, PublishedFile, ShardRef, SourceShard, StageReport


def check_output(config: PrepareConfig, shards: list[ShardRef]) -> None:
    """Raises ``ConfigError`` when the output holds another data set, this one made from other input or rules, or files
    of unknown origin."""
    path = storage.local(config.destination) / MANIFEST
    if not path.exists():
        _check_unpublished(path.parent, config)
        return
    found = read_manifest(path.parent)
    remedy = "choose another --output"
    if found.dataset != config.dataset:
        raise ConfigError(f"{path.parent} holds data set {found.dataset!r}, not {config.dataset!r}; {remedy}")
    changed = sorted(key for key, part in config.parts().items() if part != found.config_parts.get(key))
    if changed:
        raise ConfigError(f"{path.parent} holds {found.dataset!r} made with other {', '.join(changed)}; {remedy}")
    before = {_place(shard) for shard in found.source_shards}
    now = {_place(shard) for shard in shards}
    if before != now:
        raise ConfigError(
            f"{path.parent} holds {found.dataset!r} made from {len(before)} input shards, now there are {len(now)} "
            f"(different: {min(before ^ now)}); {remedy}"
        )


def check_content(config: PrepareConfig, fetched: list[StageReport]) -> None:
    """Raises ``ConfigError`` when the output holds this data set made from other content of the same files."""
    path = storage.local(config.destination) / MANIFEST
    if not path.exists():
        return
    before = {shard.index: shard for shard in read_manifest(path.parent).source_shards}
    for report in fetched:
        if before[report.shard].sha256 != report.details["content_sha256"]:
            raise ConfigError(
                f"{path.parent} was made from another content of {before[report.shard].uri}; choose another --output"
            )


def _check_unpublished(output: Path, config: PrepareConfig) -> None:
    """Without a manifest, files may only be there from a run that was stopped, and that one had packed before."""
    if any((storage.local(config.execution.work) / "pack").glob("*")):
        return
    for format in config.formats:
        for found in sorted((output / format.kind()).rglob("*")):
            if found.is_file() and not found.name.startswith(storage.TEMPORARY):
                raise ConfigError(f"{found} belongs to no finished data set; remove it, or choose another --output")


def _place(shard: ShardRef | SourceShard) -> str:
    return shard.uri if shard.part is None else f"{shard.uri} [{shard.part['start']}:{shard.part['stop']}]"


def publish(results: Results, config: PrepareConfig) -> Manifest:
    """Check that all counts add up, put the small files in place, clear away what a kill left, write ``manifest.json``
    last and return it.

    Raises ``VerificationError`` when published counts differ from the reports, ``ConfigError`` before anything is
    written when the output is finished and says something else, or holds files of something else.
    """
    output = storage.local(config.destination)
    storage.sweep(output.rglob(f"{storage.TEMPORARY}*"))  # of a run that was killed while it published
    files = [published_file(report) for report in results.uploaded]
    _check_counts(files, results, config)
    manifest = manifest_of(files, results, config)
    small = attachments(results, config, manifest)
    listed = [attached(path, content) for path, content in sorted(small.items())]
    manifest = seal(msgspec.structs.replace(manifest, attachments=listed))
    if (output / MANIFEST).exists() and read_manifest(output) != manifest:
        raise ConfigError(f"{output} is finished and was made from other input; choose another --output")
    _check_alone(output, manifest)
    for path, content in small.items():
        if isinstance(content, Path):
            storage.publish([content], output / path)
        else:
            storage.publish([], output / path, content)
    storage.publish([], output / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
    return manifest


def _check_alone(output: Path, manifest: Manifest) -> None:
    """A run under other rules may have been killed after some of its files: validation text, perhaps, that is in the
    train file now. Temporary files are another run's."""
    for path in strangers(output, manifest):
        if not path.name.startswith(storage.TEMPORARY):
            raise ConfigError(f"{path} belongs to no finished data set; remove it, or choose another --output")


def _check_counts(files: list[PublishedFile], results: Results, config: PrepareConfig) -> None:
    # Not docs_out: a document that a character split cuts ends in both files.
    documents = sum(count for report in results.tokenized for count, _ in report.details["buckets"].values())
    tokens = sum(report.tokens for report in results.tokenized)
    for format in config.formats:
        own = [file for file in files if file.format == format.kind()]
        eos = sum(file.eos for file in own) if format.eot != "none" else 0
        counted = {"ids": sum(file.tokens for file in own) - eos, "EOS": eos}
        expected = {"ids": tokens, "EOS": documents if format.eot != "none" else 0}
        if counted != expected:
            raise VerificationError(f"{format.kind()}: published files hold {counted}, the shards gave {expected}")
