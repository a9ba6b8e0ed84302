"""A rehearsal: a sample of the input, everything done to it, and what that tells of the whole corpus."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from gristmill.config import PrepareConfig
from gristmill.config.prepare import REHEARSAL
from gristmill.reporting.figures import Figures
from gristmill.reporting.forecast import Sampled, hours
from gristmill.reporting.rehearsal import SAMPLED, Cut, Findings, Rehearsed, decoded, encoded, page, rehearsal_name
from gristmill.stages.dedup._kept import kept
from gristmill.stages.dedup.decide import NO_PLACE, VERDICT
from gristmill.stages.dedup.records import mapped
from gristmill.stages.dedup.spans import settle
from gristmill.stages.ingest._arrow import batches
from gristmill.stages.ingest.plan import listed
from gristmill.stages.publish.budget import text_of
from gristmill.stages.publish.results import Results
from gristmill.storage import stores
from gristmill.types import Manifest, StageReport, file_name

BYTES_PER_TOKEN = 4
"""Of text, before anything is known of the tokenizer; English under GPT-2 has 4.4."""


def rehearsed(config: PrepareConfig) -> PrepareConfig:
    """The configuration of the rehearsal that ``config`` asks for: every source sampled, an output and a name of its
    own. One that asks for none, or is one already, stays.

    The sample is by a hash of each document, so that it is the same for any number of workers; all input is read once.
    Raises ``InputError`` when a source has nothing to read.
    """
    asked = config.rehearse
    if asked is None or asked.share is not None:
        return config
    expected = text_of(listed(config).shards, config)
    share = min(1.0, float(f"{asked.tokens * BYTES_PER_TOKEN / max(1, expected):.6g}"))
    sampled = {
        "sources": [source.thinned(share) for source in config.sources],
        "rehearse": asked.model_copy(update={"share": share}),
        "total_tokens": config.total_tokens and max(1, round(config.total_tokens * share)),
    }
    return config.model_copy(update=sampled).beside(REHEARSAL)


def rehearsal(results: Results, counted: Figures, manifest: Manifest, config: PrepareConfig) -> dict[str, bytes]:
    """The published verdict of this generation by path; nothing where the run is no rehearsal."""
    if config.rehearse is None:
        return {}
    assert config.rehearse.share is not None, "a run begins with rehearsed()"
    data = encoded(_findings(results, counted, manifest, config.rehearse.share, config))
    name = rehearsal_name(results.generation)
    return {name: data, file_name("report/rehearsal.md", results.generation): page(decoded(data)).encode()}


def verdicts_of(manifest: Manifest, config: PrepareConfig) -> Rehearsed | None:
    """The verdict that the last generation which read input has published; ``None`` where it is no rehearsal."""
    names = {entry.path for entry in manifest.attachments}
    numbers = range(len(manifest.generations), 0, -1)
    found = next((name for name in map(rehearsal_name, numbers) if name in names), None)
    return None if found is None else decoded(stores.at(config.destination).read(found))


def projected_hours(results: Results, found: Iterable[StageReport], config: PrepareConfig) -> str:
    """How long the whole corpus will take, from what the stages took in the rehearsal, whenever they were done;
    ``found`` are the searches for copies."""
    assert config.rehearse is not None
    assert config.rehearse.share is not None
    working = sum(report.seconds for report in [*_worked(results), *results.uploaded, *found])
    reading = sum(report.seconds for report in results.fetched)
    return hours(reading, working, config.rehearse.share, config.execution.worker_count())


def _worked(results: Results) -> list[StageReport]:
    """What was done with the sample once it was read, in the work area."""
    return [
        *results.cleaned,
        *results.signed,
        results.decided,
        *results.named,
        *results.trimmed,
        results.tokenizer,
        *results.tokenized,
        *results.texts,
        *([results.mixed] if results.mixed else []),
        *results.packed,
    ]


def _findings(results: Results, counted: Figures, manifest: Manifest, share: float, config: PrepareConfig) -> Findings:
    tokens: dict[str, int] = {}
    for report in results.tokenized:
        for name, (_, count) in report.details["sources"].items():
            tokens[name] = tokens.get(name, 0) + count
    across, text_bytes = _texts(results, config)
    stored = [*results.fetched, *_worked(results)]
    return Findings(
        documents=counted.documents,
        characters=counted.characters,
        quarantined=sum(report.quarantined for report in [*results.fetched, *results.tokenized]),
        searched=bool(config.dedup),
        unknown=sum(report.details["unknown"] for report in results.tokenized),
        sampled=_sampled(results, sum(tokens.values()), share),
        across=across,
        text_bytes=text_bytes,
        source_tokens=tokens,
        targets=manifest.config.get("mix") or {},
        mixed={name: row.get("train_tokens", row["tokens"]) for name, row in manifest.sources.items()},
        files=[file for file in manifest.files if file.generation == results.generation],
        cuts={
            format.kind(): Cut(key=format.cut_by, most=format.most_ids(), usual=type(format)().most_ids())
            for format in config.formats
            if format.cut_by
        },
        in_force=[
            *(kind.kind() for kind in config.dedup),
            config.tokenizer.kind(),
            *([SAMPLED] if share < 1 else []),
        ],
        work_bytes=sum(artifact.nbytes for report in stored for artifact in report.artifacts.values()),
    )


def _sampled(results: Results, tokens: int, share: float) -> Sampled:
    """What the forecast is made from."""
    documents, squares = 0, 0.0
    for report in results.tokenized:
        for batch in batches(report.artifacts["index"]):
            lengths = batch.column("length").to_numpy().astype(np.float64)
            documents, squares = documents + len(lengths), squares + float(lengths @ lengths)
    copies = _copies(results.decided)
    return Sampled(
        share=share,
        documents=documents,
        tokens=tokens,
        squares=squares,
        twice=int(np.count_nonzero(copies == 1)),
        oftener=int(np.count_nonzero(copies > 1)),
    )


def _copies(decided: StageReport) -> np.ndarray:
    """int64: of each document that has copies in the sample, how many."""
    found = mapped(decided, "verdicts", VERDICT)
    found = found[found["kept_place"] != NO_PLACE]
    kept = found["kept_place"].astype(np.uint64) << np.uint64(32) | found["kept_row"]
    return np.unique(kept, return_counts=True)[1]


def _texts(results: Results, config: PrepareConfig) -> tuple[int | None, dict[str, int]]:
    """How many validation documents have a text that is in train too, and the bytes of the kept texts by source.

    Takes 8 bytes a document. A document that a character split cuts counts as one of train.
    """
    settled = settle(results.trimmed, config) if results.trimmed else results.decided
    validation = {piece.bucket for piece in results.layout.pieces if piece.split == "val"}
    sources = {shard.index: shard.source for shard in results.shards}
    text_bytes = dict.fromkeys(sorted(sources.values()), 0)
    hashes: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for place, (piece, tokenized) in enumerate(zip(results.trimmed or results.cleaned, results.tokenized, strict=True)):
        held_out = _held_out(piece, tokenized, validation)
        for batch in kept(place, piece, settled):
            texts = batch.documents.column("text").cast(pa.binary())
            text_bytes[sources[piece.shard]] += int(pc.sum(pc.binary_length(texts)).as_py() or 0)
            found = np.fromiter(map(xxhash.xxh3_64_intdigest, texts.to_pylist()), np.uint64, len(texts))
            for split in (True, False):
                hashes[split].append(found[held_out[batch.rows] == split])
    if not validation:
        return None, text_bytes
    held, trained = (np.concatenate([np.empty(0, np.uint64), *hashes[split]]) for split in (True, False))
    return int(np.isin(held, trained).sum()), text_bytes


def _held_out(piece: StageReport, tokenized: StageReport, validation: set[int]) -> np.ndarray:
    """bool: which rows of a piece are in validation alone."""
    held = np.zeros(piece.docs_out, bool)
    trained = np.zeros(piece.docs_out, bool)
    wanted = np.array(sorted(validation), np.uint32)
    for batch in batches(tokenized.artifacts["index"]):
        rows = batch.column("row").to_numpy()
        inside = np.isin(batch.column("bucket").to_numpy(), wanted)
        held[rows[inside]] = True
        trained[rows[~inside]] = True
    return held & ~trained
