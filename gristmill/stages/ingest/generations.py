"""What a data set holds already, and what arrived since: its next generation.

A finished generation is the file ``manifests/g00001.json``, which says what its run added, put there once and never
replaced; ``manifest.json`` is the sum of all, moved on by compare-and-swap. Published files of earlier generations
stay as they are.
"""

from itertools import pairwise

import msgspec

from gristmill import ledger
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, OtherRules, VerificationError
from gristmill.manifest import MANIFEST, decoded, encoded, exists, joined, listed_bytes, read_manifest, seal
from gristmill.stages.ingest._contents import sha256_of
from gristmill.stages.ingest.changes import check_changed, key_differences, moved
from gristmill.storage import claims, stores
from gristmill.types import Manifest, ShardRef, SourceShard, StageReport, Value

FINISHED = "manifests"

REMEDY = "published files keep their rules: choose another dataset and --output, or build it beside with --rebuild"


MAY_CHANGE = ("against", "max_quarantined_share", "on_bad_document", "on_bad_file", "on_removed")
"""Keys of the configuration that say nothing of what is published already."""


_Key = tuple[str, str, str]
"""Source, URI and part: what makes two shards of two runs the same."""


class Arrivals(Value, frozen=True, kw_only=True):
    """What a run has to read, and for which generation."""

    generation: int
    shards: list[ShardRef]
    removed: list[int]


class Earlier(Value, frozen=True, kw_only=True):
    """What stands for the documents of earlier generations."""

    signed: list[StageReport]
    """Signatures of all their documents, and in ``details["gone"]`` which ``verdicts`` are about those of a piece."""
    files: list[str]
    """Published files of generations whose signatures the work area no longer has."""


def finished(number: int) -> str:
    """Where the manifest of what a generation added is."""
    return f"{FINISHED}/g{number:05d}.json"


def latest(output: str) -> Manifest | None:
    """The manifest of all finished generations, whether ``manifest.json`` speaks of the last one already or not.

    Raises ``VerificationError`` when the file of one is missing, or the last one says something else.
    """
    number, before = _there(output)
    if before is not None and added_by(len(before.generations), output).generations != before.generations[-1:]:
        place = stores.at(output)
        raise VerificationError(
            f"{place.where(finished(len(before.generations)))} is not of the data set that {place.where(MANIFEST)} "
            "speaks of; bring back the one or the other from where the output was moved or copied from"
        )
    return upto(number, output, before)


def upto(number: int, output: str, before: Manifest | None = None) -> Manifest | None:
    """The manifest of the first so many generations, or ``before`` and those that it does not speak of."""
    for further in range(len(before.generations) + 1 if before else 1, number + 1):
        before = joined(before, added_by(further, output))
    return before and seal(before)


def added_by(number: int, output: str) -> Manifest:
    """What a generation added."""
    place, name = stores.at(output), finished(number)
    return decoded(place.read(name), place.where(name))


def speaks_of_last(output: str) -> bool:
    """Whether ``manifest.json`` speaks of the last finished generation."""
    number, before = _there(output)
    return before is not None and len(before.generations) == number


def _there(output: str) -> tuple[int, Manifest | None]:
    """How many generations are finished, and what ``manifest.json`` says."""
    place = stores.at(output)
    names = place.names(FINISHED)  # first: a store says more of a refused listing than of a refused look
    before = read_manifest(output) if exists(output) else None
    if before is not None and len(before.generations) > len(names):
        names = place.names(FINISHED)  # another run may have finished one between the two looks
    number = max(len(before.generations) if before else 0, len(names))
    for missing in sorted({finished(wanted) for wanted in range(1, number + 1)} - {*names}):
        raise VerificationError(
            f"{place.where(missing)} is missing, and {number} generations are finished; bring it back from where the "
            "output was moved or copied from, or make the data set anew with --rebuild"
        )
    return number, before


def point(manifest: Manifest, config: PrepareConfig) -> None:
    """Make ``manifest.json`` speak of this generation, unless it speaks of a later one."""
    place = stores.at(config.destination)
    before = place.read(MANIFEST) if place.has(MANIFEST) else None
    if before is None or len(decoded(before, place.where(MANIFEST)).generations) < len(manifest.generations):
        place.swap(MANIFEST, encoded(manifest), before)


def arrivals(listed: list[ShardRef], config: PrepareConfig) -> Arrivals:
    """What of the input is new. Where all of it is published, nothing is; but where a published file is missing, its
    generation is made again.

    Raises ``ConfigError`` when the output holds another data set, this one by other rules, or files of unknown origin.
    """
    before = latest(config.destination)
    if before is None:
        _check_unpublished(config)
        before = latest(config.destination)  # another run may have ended meanwhile
    if before is None:
        return Arrivals(generation=1, shards=_numbered(listed, 0), removed=[])
    check_same(before, config)
    known = {key_of(row): row for row in before.source_shards}
    there = {key_of(shard): shard for shard in listed}
    same = same_shards(there, known)
    wrong = _wrong(before, config)
    lost = _lost([name for name, nbytes in wrong.items() if nbytes is None], before, config)
    if lost is not None and there.keys() == same:
        again = [_again(row, same, there) for row in before.source_shards if row.generation == lost]
        return Arrivals(generation=lost, shards=again, removed=before.generations[lost - 1].removed)
    _refuse(wrong, before, config)
    said = {index for generation in before.generations for index in generation.removed}
    replaced = [row for row in before.source_shards if key_of(row) not in same or known[key_of(row)] is not row]
    new = [shard for key, shard in there.items() if key not in same]
    renamed = moved(new, [row for row in replaced if row.index not in withdrawn(before)])
    found = {index for numbers in renamed.values() for index in numbers}
    new = [shard for shard in new if key_of(shard) not in renamed]
    left = [row for row in replaced if row.index not in {*said, *found} and not row.error]
    names = {(row.source, row.uri) for row in left if known[key_of(row)] is row}
    check_changed(sorted({shard.uri for shard in new if (shard.source, shard.uri) in names}), config)
    return Arrivals(
        generation=len(before.generations) + 1,
        shards=_numbered(new, len(before.source_shards)),
        removed=[row.index for row in left],
    )


def withdrawn(manifest: Manifest) -> set[int]:
    """Input shards whose documents loaders are told to pass over."""
    return {index for generation in manifest.generations if generation.tombstones for index in generation.removed}


def _numbered(shards: list[ShardRef], first: int) -> list[ShardRef]:
    return [msgspec.structs.replace(shard, index=first + number) for number, shard in enumerate(shards)]


def key_of(shard: ShardRef | SourceShard) -> _Key:
    """Of a shard of this run or of an earlier one."""
    return shard.source, shard.uri, str(shard.part)


def same_shards(there: dict[_Key, ShardRef], known: dict[_Key, SourceShard]) -> set[_Key]:
    """Shards with the bytes that were read before; a file on disk may have got another time of change."""
    sums = {row.uri: row.stored_sha256 for row in known.values() if row.stored_sha256}
    found = set()
    for key, shard in there.items():
        if key in known and (
            shard.identity == known[key].identity or (shard.uri in sums and sha256_of(shard.uri) == sums[shard.uri])
        ):
            found.add(key)
    return found


def _wrong(manifest: Manifest, config: PrepareConfig) -> dict[str, int | None]:
    """Bytes of every file that has another size than the manifest says; None where it is missing."""
    entries = stores.at(config.destination).entries()
    found = {name: entry.nbytes for name, entry in entries.items()}
    return {name: found.get(name) for name, nbytes in listed_bytes(manifest).items() if found.get(name) != nbytes}


def _lost(missing: list[str], before: Manifest, config: PrepareConfig) -> int | None:
    """The first generation of which a published file is missing."""
    names = set(missing)
    numbers = range(1, len(before.generations) + 1) if names else []
    return next((number for number in numbers if names & {*listed_bytes(added_by(number, config.destination))}), None)


def check_sizes(manifest: Manifest, config: PrepareConfig) -> None:
    """Raises ``VerificationError`` unless every published file is there with the size that the manifest says."""
    _refuse(_wrong(manifest, config), manifest, config)


def _refuse(wrong: dict[str, int | None], manifest: Manifest, config: PrepareConfig) -> None:
    listed = listed_bytes(manifest)
    for name, found in wrong.items():
        more = f" ({len(wrong) - 1:,} more files are missing or changed)" if len(wrong) > 1 else ""
        how = "is missing" if found is None else f"has {found:,} bytes"
        remedy = "bring it back, or" if found is None else "bring back what it was, or remove it and"
        raise VerificationError(
            f"{stores.at(config.destination).where(name)} {how}; the manifest lists it with {listed[name]:,}{more}; "
            f"{remedy} run with the input that the data set has: what is missing is made again"
        )


def _again(row: SourceShard, same: set[_Key], there: dict[_Key, ShardRef]) -> ShardRef:
    if key_of(row) not in same:
        raise ConfigError(
            f"{row.uri}: changed or gone, and published files of its generation {row.generation} are missing; "
            "bring back the one or the other"
        )
    return msgspec.structs.replace(there[key_of(row)], index=row.index)


def check_same(before: Manifest, config: PrepareConfig) -> None:
    """Raises ``ConfigError`` unless the data set is this one, made by these rules."""
    if before.dataset != config.dataset:
        raise ConfigError(f"{config.destination} holds data set {before.dataset!r}, not {config.dataset!r}; {REMEDY}")
    parts = config.parts()
    sources = [key for key in before.config_parts.keys() ^ parts.keys() if key.startswith("sources.")]  # come and go
    compared = (before.config_parts.keys() | parts.keys()) - {*sources, *MAY_CHANGE}
    changed = sorted(key for key in compared if before.config_parts.get(key) != parts.get(key))
    if changed:
        what = key_differences(before, config, changed)
        raise OtherRules(f"{config.destination} holds {before.dataset!r} made by other rules: {what}; {REMEDY}")


def _check_unpublished(config: PrepareConfig) -> None:
    """Without a manifest, files may only be there from a run that was stopped or is at work: it claims the output
    before its first file, and the manifest is there before the claim goes. So they are looked for in this order."""
    place = stores.at(config.destination)
    found = [name for format in config.formats for name in place.names(format.kind())]
    if found and claims.found(config.destination) is None and latest(config.destination) is None:
        raise ConfigError(
            f"{place.where(found[0])} belongs to no finished data set; remove it, or choose another --output"
        )


def earlier(generation: int, config: PrepareConfig) -> Earlier:
    """Signatures of the documents of all generations before this one, as far as the work area has them, and the
    published files that stand for the others."""
    before = latest(config.destination)
    if before is None:
        return Earlier(signed=[], files=[])
    rows = [row for row in before.source_shards if row.generation < generation]
    work = stores.at(config.execution.work)
    reports = {
        number: _signed([row for row in rows if row.generation == number], made.decided, work)
        for number, made in enumerate(before.generations[: generation - 1], 1)
    }
    return Earlier(
        signed=[report for known in reports.values() if known is not None for report in known],
        files=[file.path for file in before.files if reports.get(file.generation, ()) is None],
    )


def _signed(rows: list[SourceShard], decided: str, work: stores.Place) -> list[StageReport] | None:
    """The signatures of a generation, each with the place of its verdict; None where the work area lacks any of it."""
    verdict = ledger.listed(work.where(f"decide/{decided}"))
    found = [(row.index, ledger.listed(work.where(f"sign/{key}"))) for row in rows for key in row.signed]
    if verdict is None and found:
        return None
    signed: list[StageReport] = []
    for (index, report), gone in zip(found, pairwise(verdict.details["offsets"] if verdict else []), strict=True):
        if report is None or verdict is None:
            return None
        signed.append(
            msgspec.structs.replace(
                report,
                shard=index,
                artifacts={**report.artifacts, "verdicts": verdict.artifacts["verdicts"]},
                details={**report.details, "gone": gone},
            )
        )
    return signed
