"""Make the tokens again from the input, with the reference tokenizer, and compare them with what was published."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.formats.base import format_of, raw_blocks
from gristmill.manifest import read_manifest
from gristmill.phases.dedup import Deduplicated, decide_copies
from gristmill.phases.ingest import ingest
from gristmill.phases.output import pack_calls
from gristmill.phases.tokens import mix_sources, spell
from gristmill.runners.in_process import IN_PROCESS
from gristmill.stages.dedup.recall import check_tokenizer_files
from gristmill.stages.ingest.generations import Earlier
from gristmill.stages.ingest.plan import listed
from gristmill.stages.output.layout import layout
from gristmill.stages.tokens.order import order
from gristmill.stages.tokens.tokenize import tokenize
from gristmill.storage import stores
from gristmill.storage.stores import Place
from gristmill.types import Artifact, Manifest, Plan, PublishedFile, ShardRef, SourceShard, StageReport


def compare(output: str, config: PrepareConfig) -> list[str]:
    """Read, clean and dedup the input of ``config`` anew in a temporary folder, encode the kept documents with the
    archived tokenizer's reference implementation, and compare id by id; a line for every file that differs."""
    place = stores.at(output)
    manifest = read_manifest(output)
    check_tokenizer_files(place, manifest)
    problems = _other_rules(output, manifest, config)
    with tempfile.TemporaryDirectory(prefix="gristmill-verify-") as work:
        execution = config.execution.model_copy(update={"work": work})
        expected = _expected(place, manifest, config.model_copy(update={"execution": execution}))
        for file in manifest.files:
            with place.fresh(file.path) as path:
                problems += _difference(path, file, expected.get(file.path, []), manifest)
        problems += [
            f"{place.where(path)}: missing; the input gives it"
            for path in expected.keys() - {f.path for f in manifest.files}
        ]
    return problems


def _other_rules(output: str, manifest: Manifest, config: PrepareConfig) -> list[str]:
    changed = sorted(key for key, part in config.parts().items() if part != manifest.config_parts.get(key))
    return [f"{output}: made with other {', '.join(changed)} than the given configuration"] if changed else []


def _expected(place: Place, manifest: Manifest, config: PrepareConfig) -> dict[str, list[Path]]:
    """The pieces of every published file, by its path in the output, made by the reference: generation by generation,
    each held against those before."""
    there = {(shard.source, shard.uri, str(shard.part)): shard for shard in listed(config).shards}
    files: dict[str, list[Path]] = {}
    before = Earlier(signed=[], files=[])
    for generation in manifest.generations:
        shards = [
            _input(row, there)
            for row in manifest.source_shards
            if row.generation == generation.number and not row.error
        ]
        if not shards:
            continue
        planned = Plan(generation=generation.number, shards=shards, removed=[], first_rows=[])
        ingested = ingest(planned, config, IN_PROCESS)
        files |= _files(place, manifest, decide_copies(ingested, before, config, IN_PROCESS), config)
        before = Earlier(signed=[*before.signed, *ingested.signed], files=[])
    return files


def _input(row: SourceShard, there: dict[tuple[str, str, str], ShardRef]) -> ShardRef:
    found = there.get((row.source, row.uri, str(row.part)))
    if found is None:
        raise InputError(f"{row.uri}: gone; what was published of it cannot be made again")
    return replace(found, index=row.index)


def _files(place: Place, manifest: Manifest, dropped: Deduplicated, config: PrepareConfig) -> dict[str, list[Path]]:
    tokenizer = StageReport(
        stage="vocabulary",
        shard=0,
        fingerprint=manifest.tokenizer.sha256,
        artifacts={
            path.name: Artifact(uri=str(path), sha256="", nbytes=path.stat().st_size)
            for path in place.folder("tokenizer").iterdir()
        },
        details={"record": manifest.tokenizer},
    )
    settled = dropped.settled
    arranged = order(dropped.measured, settled, config)
    tokenized = [
        tokenize(number, report, settled, tokenizer, arranged, config, "reference")
        for number, report in enumerate(dropped.pieces)
    ]
    spelled = spell(dropped, tokenized, arranged, config, IN_PROCESS)
    mixed = mix_sources(dropped, tokenized, spelled, arranged, config, IN_PROCESS)
    planned = layout(dropped.generation, tokenized, spelled, arranged, mixed, config)
    packed = IN_PROCESS.each(pack_calls(planned, tokenized, spelled, tokenizer, mixed, config))
    return {
        f"{file.format}/{file.path}": [stores.here(packed[number].artifacts["tokens"]) for number in file.pieces]
        for file in planned.files
    }


def _difference(path: Path, file: PublishedFile, pieces: list[Path], manifest: Manifest) -> list[str]:
    """The first id at which a published file is not what its pieces say."""
    format, vocab_size = format_of(manifest, file.format), manifest.tokenizer.vocab_size
    blocks = format.blocks(path, format.dtype(vocab_size))
    rest = np.empty(0, np.int64)
    position = 0
    for wanted in itertools.chain.from_iterable(raw_blocks(piece, format.packed(vocab_size)) for piece in pieces):
        found = [rest]
        while sum(map(len, found)) < len(wanted) and (block := next(blocks, None)) is not None:
            found.append(block)
        ids = np.concatenate(found)
        if not np.array_equal(ids[: len(wanted)], wanted):
            return [_first(path, position, ids, wanted)]
        position += len(wanted)
        rest = ids[len(wanted) :]
    more = len(rest) + sum(map(len, blocks))
    return [f"{path}: id {position}: {more} ids more than the input gives"] if more else []


def _first(path: Path, position: int, ours: np.ndarray, theirs: np.ndarray) -> str:
    shorter = min(len(ours), len(theirs))
    differs = np.flatnonzero(ours[:shorter] != theirs[:shorter])
    at = int(differs[0]) if differs.size else shorter
    met = f"{ours[at]}" if at < len(ours) else "the end of the file"
    return f"{path}: id {position + at}: {met}; expected {theirs[at]}"
