"""Published documents as text again, from their tokens: what earlier data is compared by."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill import ledger, plugins
from gristmill.columns import strings
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError, VerificationError
from gristmill.formats.base import format_of
from gristmill.manifest import read_manifest
from gristmill.stages.dedup.sign import PROGRAM, sign
from gristmill.stages.ingest._arrow import DocumentWriter, characters
from gristmill.storage import disk, stores
from gristmill.storage.stores import Place
from gristmill.tokenizers._loaded import loaded
from gristmill.tokenizers.base import Encoder, Tokenizer
from gristmill.types import DOCUMENT, DOCUMENT_SCHEMA, Manifest, PublishedFile, ShardRef, StageReport

BATCH_DOCUMENTS = 1024


def earlier_files(config: PrepareConfig, forgotten: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(output, path) of every published file that new documents are held against: of other data sets, and those of
    this one that are ``forgotten``."""
    own = [path for path in document_files(config.destination) if path in forgotten] if forgotten else []
    others = [(output, path) for output in config.against for path in document_files(output)]
    return others + [(config.destination, path) for path in own]


def earlier_shard(number: int) -> ShardRef:
    """Stands for a published file where a stage wants an input shard."""
    return ShardRef(index=number, source="", uri="", size=0, identity="")


def document_files(output: str) -> list[str]:
    """The published files, by path, that hold every document of a data set once: those of its first format that
    separates documents. Raises ``ConfigError`` when there is no such format."""
    manifest = read_manifest(output)
    kind = next((kind for kind, side in manifest.eot_side.items() if side != "none"), None)
    if kind is None:
        raise ConfigError(f"{output}: no format with an end-of-text token, so its documents cannot be told apart")
    return [file.path for file in manifest.files if file.format == kind]


def decode_published(output: str, path: str, number: int, config: PrepareConfig) -> StageReport:
    """Write ``documents.arrow`` with the documents of one published file; ids are ``<output>/<path>#<place>``.

    The report looks like one of ``clean``, so that ``sign`` takes it.
    """
    manifest = read_manifest(output)
    file = next(entry for entry in manifest.files if entry.path == path)
    programs = _programs(output, file, manifest)

    def produce(work: Path, key: str) -> StageReport:
        out = DocumentWriter(work / "documents.arrow", config.execution.kept())
        count = size = 0
        for texts in _texts(output, file, manifest):
            ids = [f"{output}/{path}#{count + place}" for place in range(len(texts))]
            columns = [strings(ids), strings(texts), programs[count : count + len(texts)]]
            batch = pa.RecordBatch.from_arrays(columns, schema=DOCUMENT_SCHEMA)
            out.write(batch)
            count, size = count + len(texts), size + characters(batch.column("text"))
        return StageReport(
            stage="recall",
            shard=number,
            fingerprint=key,
            docs_in=count,
            docs_out=count,
            chars_in=size,
            chars_out=size,
            artifacts={"documents": out.close(DOCUMENT_SCHEMA)},
        )

    determined = {"file": file.sha256, "tokenizer": manifest.tokenizer.sha256, "name": f"{output}/{path}"}
    if PROGRAM in programs.unique().to_pylist():
        determined["programs"] = PROGRAM
    return ledger.run(config.execution.work, "recall", number, determined, produce)


def recall(output: str, path: str, number: int, config: PrepareConfig) -> StageReport:
    """Signatures of the documents of one published file; progress is that of ``sign``, which goes through all."""
    return sign(earlier_shard(number), decode_published(output, path, number, config), config)


def _programs(output: str, file: PublishedFile, manifest: Manifest) -> pa.StringArray:
    """``PROGRAM`` for each document of a file that is from a source of programs, else nothing."""
    labels = {entry["name"] or entry["kind"] for entry in manifest.config["sources"] if entry["genre"] == PROGRAM}
    if not labels:
        return strings([""] * file.documents)
    shards = [shard.index for shard in manifest.source_shards if shard.source in labels]
    documents = np.frombuffer(stores.at(output).read(f"documents/{file.path}"), DOCUMENT)
    return pc.if_else(np.isin(documents["shard"], shards), PROGRAM, "")


def recalled_text(name: str, outputs: list[str]) -> str:
    """The text of the earlier document of one of the data sets that ``recall`` gave this id; raises ``InputError`` when
    it is not there."""
    file_name, _, number = name.rpartition("#")
    for output, path in ((place, path) for place in outputs for path in document_files(place)):
        if file_name == f"{output}/{path}":
            manifest = read_manifest(output)
            file = next(entry for entry in manifest.files if entry.path == path)
            documents = itertools.chain.from_iterable(_texts(output, file, manifest))
            for text in itertools.islice(documents, int(number), None):
                return text
    raise InputError(f"{name}: no such document in {', '.join(outputs)}")


def check_tokenizer_files(place: Place, manifest: Manifest) -> None:
    """Raises ``VerificationError`` unless the archived tokenizer is the one that made the ids, byte for byte."""
    folder = place.folder("tokenizer")
    for name, wanted in _tokenizer_files(manifest).items():
        found = disk.digest(folder / name) if (folder / name).is_file() else "missing"
        if found != wanted:
            where = place.where(f"tokenizer/{name}")
            raise VerificationError(f"{where}: sha256 {found}; the ids were made with {wanted}")


def _tokenizer_files(manifest: Manifest) -> dict[str, str]:
    """sha256 of the files of the archived tokenizer, by name."""
    listed = [(Path(entry.path), entry.sha256) for entry in manifest.attachments]
    return {path.name: sha256 for path, sha256 in listed if path.parent == Path("tokenizer")}


def published_encoder(output: str | Path, manifest: Manifest) -> Encoder:
    """The tokenizer archived with a data set; raises ``VerificationError`` when another one lies there."""
    check_tokenizer_files(stores.at(output), manifest)
    tokenizer = plugins.load("tokenizers", manifest.config["tokenizer"])
    assert isinstance(tokenizer, Tokenizer)
    return loaded(tokenizer, stores.at(output).folder("tokenizer"), _tokenizer_files(manifest))


def _texts(output: str, file: PublishedFile, manifest: Manifest) -> Iterator[list[str]]:
    """The documents that start in a file in order, some at a time; the last may end in a later file."""
    encoder = published_encoder(output, manifest)
    format = format_of(manifest, file.format)
    pending: list[str] = []
    blocks = _blocks(output, file, manifest)
    found = _documents(blocks, manifest.tokenizer.eot_id, format.eot)
    for ids in itertools.islice(found, file.documents):
        pending.append(encoder.decode(ids))
        if len(pending) == BATCH_DOCUMENTS:
            yield pending
            pending = []
    yield pending


def _blocks(output: str, file: PublishedFile, manifest: Manifest) -> Iterator[np.ndarray]:
    """The ids from the first document that starts in the file on, and those of the files that go on with its stream."""
    format = format_of(manifest, file.format)
    dtype = format.dtype(manifest.tokenizer.vocab_size)
    stream = [
        other
        for other in manifest.files
        if (other.format, other.split, other.generation) == (file.format, file.split, file.generation)
    ]
    skipped = file.boundaries[0].token if file.boundaries else 0
    for other in stream[stream.index(file) :]:
        for block in format.blocks(stores.at(output).path(other.path), dtype):
            yield block[skipped:]
            skipped -= min(skipped, len(block))


def _documents(blocks: Iterator[np.ndarray], eot_id: int | None, side: str) -> Iterator[np.ndarray]:
    """The ids of each document, its end-of-text id taken off; a document may lie in several blocks."""
    rest: list[np.ndarray] = []
    started = side == "append"
    for block in blocks:
        position = 0
        for end in np.flatnonzero(block == eot_id).tolist():
            if started:
                yield np.concatenate([*rest, block[position:end]])
            started, rest, position = True, [], end + 1
        rest.append(block[position:])
    if side == "prepend" and started:
        yield np.concatenate(rest)
