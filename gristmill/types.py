"""The values that travel between stages: references and reports, never text or tokens.

All are frozen and JSON round-trips them (``msgspec``). In memory, documents are Arrow record batches of
``DOCUMENT_SCHEMA``.
"""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from gristmill import without_pandas  # noqa: F401  # before the first array of the process

DOCUMENT_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
    ]
)
"""What a source yields and a cleaner receives. ``id`` is data: it never becomes part of a path."""

DOCUMENT = np.dtype([("shard", "<u4"), ("length", "<u4")])
"""A document in publishing order: its input shard, and its ids without EOT."""


def token_dtype(vocab_size: int) -> np.dtype:
    """The one rule for token types: little-endian uint16 up to 65,536 ids, uint32 above. ``vocab_size`` is the highest
    id + 1, added tokens included."""
    return np.dtype("<u2") if vocab_size <= 1 << 16 else np.dtype("<u4")


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the frozen, keyword-only records below."""


DANGLING = "link that leads nowhere"
"""Identity of an input shard that is only that."""


class ShardRef(Value, frozen=True, kw_only=True):
    """One unit of input: a file, a byte range of a plain file, or a run of parquet row groups."""

    index: int
    """Place in the global document order, 0-based."""
    source: str
    """Name of the source in the configuration."""
    uri: str
    size: int
    """Bytes that the stage will read (compressed size for compressed files)."""
    identity: str
    """Changes when the content may have changed (size and mtime on disk, ETag and version on S3)."""
    part: dict[str, int] | None = None
    """``None``: the whole file; ``{"start", "stop"}``: a half-open range of bytes or row groups."""
    take: dict[str, int] | None = None
    """``None``: every document; else at most so many ``documents`` and ``bytes`` of text, from its start."""
    link: str = ""
    """The file that it leads to, where it is a link out of its input folder."""

    @property
    def name(self) -> str:
        """``shard-00042``: the name in logs, task names and reports."""
        return part_name(self.index, 0)

    @property
    def remote(self) -> bool:
        """Whether reading it is a download."""
        return "://" in self.uri and not self.uri.startswith("file://")


def part_name(shard: int, piece: int) -> str:
    """``shard-00042``, or ``shard-00042-3`` for a later piece of it."""
    return f"shard-{shard:05d}-{piece}" if piece else f"shard-{shard:05d}"


class Artifact(Value, frozen=True, kw_only=True):
    """A file that a stage wrote."""

    uri: str
    sha256: str
    nbytes: int
    etag: str = ""
    """What an object store calls this state of the object; empty for a file."""


class StageReport(Value, frozen=True, kw_only=True):
    """What a stage did with one shard.

    Invariant, checked where a report is written: ``docs_in == docs_out + sum(dropped.values()) + quarantined``.
    Characters are Unicode code points; ``tokens`` do not include EOS.
    """

    stage: str
    shard: int
    """Index of the input shard, output piece or search that the stage worked on; 0 for a barrier."""
    piece: int = 0
    """Which piece of the input shard, where ``fetch`` cut it into several."""
    fingerprint: str
    docs_in: int = 0
    docs_out: int = 0
    chars_in: int = 0
    chars_out: int = 0
    tokens: int = 0
    eos: int = 0
    dropped: dict[str, int] = msgspec.field(default_factory=dict)
    quarantined: int = 0
    quarantine_reasons: dict[str, int] = msgspec.field(default_factory=dict)
    artifacts: dict[str, Artifact] = msgspec.field(default_factory=dict)
    details: dict[str, Any] = msgspec.field(default_factory=dict)
    """Small facts a later stage needs (offsets, bounds, counts per bucket)."""
    started: float = 0.0
    """Unix time at which the work began."""
    seconds: float = 0.0
    reused: bool = False
    """True when the output was there already and nothing was done."""

    @property
    def name(self) -> str:
        """``shard-00042`` or ``shard-00042-3``: what it worked on, where that is a piece of the input."""
        return part_name(self.shard, self.piece)

    def __post_init__(self) -> None:
        accounted = self.docs_out + sum(self.dropped.values()) + self.quarantined
        assert self.docs_in == accounted, f"{self.stage}: {self.docs_in} documents in, {accounted} accounted for"


class PassedOver(Value, frozen=True, kw_only=True):
    """Files in the folders and globs of a source that are not read, of one suffix, for one reason."""

    source: str
    reason: str
    """``unknown suffix``, ``hidden``, ``unfinished``, ``success marker``, ``empty``, ``not a regular file``,
    ``link that leads nowhere`` or ``in no split``."""
    suffix: str
    """Small letters, with that of a compression; empty where a name has none, ``other`` where there are too many."""
    files: int
    examples: list[str]
    """The first few, below their folder."""


class Estimate(Value, frozen=True, kw_only=True):
    """What a sample of a source tells of all of it. In bytes where nothing else is said; of text, in UTF-8."""

    source: str
    shards: int
    stored: int
    looked_into: int
    """Shards that the sample is from; 0 where none could be read, and the names of files are all that is known."""
    text: int
    rows: int
    """Text with the ids and other columns of its documents."""
    kept: int
    """Text that the rules leave; copies are not looked for."""
    rewritten: bool
    """Whether rules change anything, so that there is a second copy of the text."""
    documents: int
    """That the rules keep."""
    ids: int
    """Of the tokenizer, in what is kept."""
    packed: float
    """Share of text that is left of it as lz4."""
    signatures: int


class Budget(Value, frozen=True, kw_only=True):
    """About what a run needs on disk, the least that it needs for sure, and what it finds there."""

    sources: list[Estimate]
    work_bytes: int
    work_least: int
    output_bytes: int
    output_least: int
    work_free: int | None
    """``None`` where the place has no limit to speak of."""
    output_free: int | None
    done: dict[str, int]
    """Per stage: input shards whose output is there already."""

    @property
    def text_bytes(self) -> int:
        """Of all sources."""
        return sum(source.text for source in self.sources)


class Excerpt(Value, frozen=True, kw_only=True):
    """The beginning of a document."""

    id: str
    text: str
    characters: int
    """Of the whole document."""


class FirstRows(Value, frozen=True, kw_only=True):
    """What the first file of its kind of a source begins with."""

    source: str
    uri: str
    documents: list[Excerpt]
    remarks: list[str]
    """What a user should know before the run: keys that no row has, a separator that never occurs."""


class Plan(Value, frozen=True, kw_only=True):
    """What a run will read."""

    generation: int
    """Of the data set, from 1: what is published already is never touched by a later one."""
    shards: list[ShardRef]
    """What is new, numbered on from the shards of earlier generations; empty when there is nothing to do."""
    removed: list[int]
    """Shards of earlier generations that are no longer in the input."""
    passed_over: list[PassedOver] = msgspec.field(default_factory=list)
    first_rows: list[FirstRows]


def file_name(path: str, generation: int) -> str:
    """The name of a published file in a generation: ``train.bin``, then ``train-g00002.bin``."""
    if generation == 1:
        return path
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.partition(".")
    return f"{folder}{slash}{stem}-g{generation:05d}{dot}{suffix}"


class Boundary(Value, frozen=True, kw_only=True):
    """A document start in a stream of tokens."""

    document: int
    """How many documents start before it."""
    token: int
    """How many ids stand before it."""


class Piece(Value, frozen=True, kw_only=True):
    """What one pack task writes: a half-open token range (EOT included) of one bucket, for one published file."""

    index: int
    format: str
    path: str
    split: str
    bucket: int
    start: int
    stop: int


class PlannedFile(Value, frozen=True, kw_only=True):
    """One file to publish and the pieces that it is joined from, in order."""

    index: int
    format: str
    path: str
    """Relative to ``OUTPUT/<format>/``."""
    split: str
    pieces: list[int]
    tokens: int


class Search(Value, frozen=True, kw_only=True):
    """A part of the search for duplicates: some bands of one dedup kind, or a key range of one band."""

    index: int
    kind: int
    """Place of the kind in the configuration's list."""
    first_band: int
    last_band: int
    """Half-open."""
    range: int
    ranges: int


class Layout(Value, frozen=True, kw_only=True):
    """Every published file, decided once all counts are known."""

    files: list[PlannedFile]
    pieces: list[Piece]
    rest: dict[str, int]
    """Per format: ids at the ends of its streams that are in no file, where it takes whole samples only."""


class LabelMask(Value, frozen=True, kw_only=True):
    """A published file of one bool (1 byte) for each id of a token file: whether a model is to learn to predict it."""

    path: str
    """Relative to the output."""
    hidden: int
    """Ids that are not to be learned."""
    blocks: list[str]
    """xxh3_64, block by block, as of the token file."""


class PublishedFile(Value, frozen=True, kw_only=True):
    """One row of the manifest: a file of a training format, counted from its own bytes."""

    path: str
    """Relative to the output, with forward slashes."""
    format: str
    split: str
    generation: int
    bytes: int
    sha256: str
    documents: int
    """Documents in the file; one cut by a character split counts on both sides."""
    tokens: int
    """Ids in the file, EOS included; of a format that holds text, its bytes in UTF-8."""
    eos: int
    max_id: int
    block_bytes: int
    blocks: list[str]
    """xxh3_64 of each ``block_bytes`` of the file: finds where a damaged file differs."""
    boundaries: list[Boundary]
    """Where about every thousandth document starts."""
    mask: LabelMask | None = None


class AttachedFile(Value, frozen=True, kw_only=True):
    """A published file that holds no tokens (tokenizer, report, format sidecar)."""

    path: str
    bytes: int
    sha256: str


class RuleRecord(Value, frozen=True, kw_only=True):
    """What one cleaning rule or filter did to the documents of one source."""

    source: str
    rule: str
    documents_in: int
    documents_out: int
    characters_in: int
    characters_out: int
    dropped: dict[str, int]
    tokens_lost: int
    """Estimated: characters removed, times the tokens per character of what was kept of the source."""


class Loss(Value, frozen=True, kw_only=True):
    """What was not published of a source for one reason."""

    source: str
    stage: str
    """``read``, ``quarantine``, ``cleaning``, ``dedup``, ``tokens`` or ``mix``."""
    rule: str
    """The kind of rule or dedup; empty in the other stages."""
    reason: str
    documents: int
    characters: int
    tokens: int
    """Estimated: the characters, times the tokens per character of what was encoded of the source."""
    counted: bool
    """False where the text was never read: its characters are the mean of the source's documents."""


class SourceShard(Value, frozen=True, kw_only=True):
    """What the manifest says of one input shard."""

    index: int
    source: str
    uri: str
    part: dict[str, int] | None
    identity: str
    """Of the stored bytes when they were read."""
    stored_sha256: str
    """Of the file as stored, where it is on disk and this is its first shard; empty otherwise. With another identity
    and these bytes it is still the same file."""
    generation: int
    """In which it was read."""
    signed: list[str]
    """Fingerprints of its pieces' signatures in the work area."""
    sha256: str
    """Of the text of all documents read, in order; independent of compression and file format."""
    documents: int
    kept: int
    dropped: dict[str, int]
    quarantined: dict[str, int]
    tokens: int
    error: str = ""
    """Why the file was left out (``on_bad_file: quarantine``); empty otherwise."""
    link: str = ""
    """The file that ``uri`` leads to, where it is a link out of its input folder (``links: follow``)."""


class TokenizerRecord(Value, frozen=True, kw_only=True):
    """Which tokenizer made the ids."""

    kind: str
    name: str
    file: str
    sha256: str
    vocab_size: int
    """Highest id + 1, added tokens included."""
    eot_id: int | None
    fast_path: str
    """Library and version that encoded, after ``reference: `` where it is the reference itself."""
    documents_compared: int = 0
    documents_different: int = 0


class Generation(Value, frozen=True, kw_only=True):
    """What one run added to a data set."""

    number: int
    code_version: str
    config_fingerprint: str
    shards: int
    """Input shards read."""
    documents: int
    tokens: int
    removed: list[int]
    """Input shards of earlier generations that were no longer in the input."""
    decided: str
    """Fingerprint of its verdict on copies in the work area."""
    tombstones: str
    """Path of the list of their documents in published files; empty where none was asked for."""


class Manifest(Value, frozen=True, kw_only=True):
    """The last file written: its existence means that the data set is whole."""

    manifest_version: int
    dataset: str
    generations: list[Generation]
    """All of them, this one last; the other fields speak of them together."""
    code_version: str
    config: dict[str, Any]
    """As a configuration file would hold it, every default written out."""
    config_fingerprint: str
    config_parts: dict[str, str]
    """A fingerprint of what each key of the configuration does to the bytes."""
    tokenizer: TokenizerRecord
    dtype: str
    eot_side: dict[str, str]
    """Per format: ``append``, ``prepend`` or ``none``."""
    totals: dict[str, int]
    dropped: dict[str, int]
    quarantined: dict[str, int]
    sources: dict[str, dict[str, int]]
    """Per source: documents, kept, tokens."""
    rules: list[RuleRecord]
    """The ledger of cleaning, source by source, in the order of the rules."""
    losses: list[Loss]
    """By source, stage, rule and reason; each of them once."""
    files: list[PublishedFile]
    attachments: list[AttachedFile]
    source_shards: list[SourceShard]
    passed_over: list[PassedOver] = msgspec.field(default_factory=list)
    """Files that were not read when the last generation was planned."""
    sha256: str = ""
    """Of this manifest's JSON with this field empty."""
