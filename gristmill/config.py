"""The configuration that a user writes: what to make, never how many processes make it."""

import datetime
import hashlib
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import msgspec
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gristmill import s3_client
from gristmill.cleaning.base import Cleaner
from gristmill.dedup.base import DedupKind
from gristmill.errors import ConfigError
from gristmill.formats.base import Format
from gristmill.manifest import seal_of
from gristmill.ordering.base import Ordering
from gristmill.packing.base import Packing
from gristmill.plugins import Plugin, Room, explain, load
from gristmill.s3_client import S3Settings
from gristmill.sources.base import Source
from gristmill.splits.base import Split
from gristmill.tokenizers.base import Tokenizer

_SURROGATE = re.compile("[\ud800-\udfff]")


def one(room: str, kind: str, description: str) -> Any:
    """A field whose default is the plugin of this kind, made when the field is missing."""
    return Field(default_factory=lambda: load(room, {"kind": kind}), description=description)


def several(room: str, *kinds: str, description: str, least: int = 0) -> Any:
    """A list field whose default is one plugin of each kind."""
    return Field(
        default_factory=lambda: [load(room, {"kind": kind}) for kind in kinds],
        description=description,
        min_length=least,
    )


class Execution(BaseModel):
    """How the work is carried out. Nothing here changes a byte of the output."""

    model_config = ConfigDict(frozen=True, extra="forbid", title="Execution")

    workers: int = Field(0, ge=0, le=4096, description="Processes that do CPU work at once; 0: one a core.")
    downloads: int = Field(
        0, ge=0, le=4096, description="Remote inputs fetched at once, beside the workers; 0: they share the workers."
    )
    work: str = Field(
        "work",
        description="Folder or s3:// prefix for what stages leave for one another; kept, so that a rerun resumes.",
    )
    retries: int = Field(3, ge=0, le=20, description="How often a task is tried again after a storage error.")
    shard_seconds: float | None = Field(None, gt=0, description="Kill and retry a stage that takes longer than this.")
    s3: S3Settings | None = Field(
        None, description="How S3 is reached; default: the environment. Keys only ever come from there."
    )

    def apply(self) -> None:
        """Put what is said of S3 in force, in this process and those that it starts."""
        if self.s3 is not None and s3_client.in_force() != self.s3:
            s3_client.use(self.s3)

    def worker_count(self) -> int:
        """``workers``, or the number of cores this process may use."""
        return self.workers or len(os.sched_getaffinity(0))


class PrepareConfig(BaseModel):
    """Everything that determines the output. Every part has a default; the whole default documents Python itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", title="Prepare a data set")

    dataset: str = Field(
        "stdlib-docs",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Identity of the output: letters, digits, dot, dash, underscore.",
    )
    sources: list[Annotated[Source, Room("sources")]] = several(
        "sources", "stdlib_docs", description="Where text comes from.", least=1
    )
    cleaning: list[Annotated[Cleaner, Room("cleaning")]] = several(
        "cleaning", "unicode", "control", "whitespace", description="Rules and filters, in order."
    )
    dedup: list[Annotated[DedupKind, Room("dedup")]] = several(
        "dedup", "exact", description="Duplicate removal, in order."
    )
    against: list[str] = Field(
        [], description="Published data sets whose documents count as earlier: new data never repeats them."
    )
    keep_copy: Literal["first", "content"] = Field(
        "first",
        description="Which of several copies stays, within the highest source priority: the first in document order, "
        "or the one whose text has the smallest hash, whatever the files are called.",
    )
    tokenizer: Annotated[Tokenizer, Room("tokenizers")] = one("tokenizers", "train", "Where ids come from.")
    split: Annotated[Split, Room("splits", default="fraction")] = one("splits", "fraction", "What is held out.")
    ordering: Annotated[Ordering, Room("ordering")] = one("ordering", "hashed", "Order of documents in the output.")
    packing: Annotated[Packing, Room("packing")] = one("packing", "concat", "How documents become a stream.")
    formats: list[Annotated[Format, Room("formats")]] = several(
        "formats", "nanogpt", description="One output a kind.", least=1
    )
    output: str = Field(
        "", description="Where the data set goes; {date} becomes the day of the run; default: out/<dataset>."
    )
    on_bad_document: Literal["quarantine", "fail"] = Field(
        "quarantine", description="What a document that cannot be used does."
    )
    max_quarantined_share: float = Field(
        0.01, ge=0, le=1, description="More unusable documents than this fail the run."
    )
    on_bad_file: Literal["fail", "quarantine"] = Field("fail", description="What a damaged input file does.")
    on_removed: Literal["keep", "tombstone"] = Field(
        "keep",
        description="What an input file that is gone does to its documents, which stay published: nothing, or a list "
        "of their places for loaders to pass over.",
    )
    execution: Execution = Execution()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _distinct("sources", [source.label for source in self.sources], "give each a different name")
        self.sources[:] = [source.resolved(self.cleaning) for source in self.sources]  # a list of our own making
        _distinct("formats", [format.kind() for format in self.formats], "list each kind once")
        self.split.check_ordering(self.ordering.kind())
        self.packing.check_formats({format.kind(): format.holds for format in self.formats})
        return self

    @property
    def destination(self) -> str:
        """The output URI."""
        return self.output or f"out/{self.dataset}"

    def dated(self, day: datetime.date) -> Self:
        """The same with ``{date}`` in ``output`` replaced by ``day``: a nightly run makes a data set of its own."""
        if "{date}" not in self.output:
            return self
        return self.model_copy(update={"output": self.output.replace("{date}", day.isoformat())})

    def beside(self) -> Self:
        """The same as a data set of its own, named by its fingerprint: for other rules than those that it was published
        by. Stage outputs that are still valid are reused."""
        mark = self.fingerprint()[:8]
        return self.model_copy(update={"dataset": f"{self.dataset}-{mark}", "output": f"{self.destination}-{mark}"})

    def source(self, label: str) -> Source:
        """The source of this name."""
        return next(source for source in self.sources if source.label == label)

    def format(self, kind: str) -> Format:
        """The format of this kind."""
        return next(format for format in self.formats if format.kind() == kind)

    def rules(self, label: str) -> list[Cleaner]:
        """The cleaners in force for a source, with the values that its genre gives."""
        own = self.source(label).cleaning
        return self.cleaning if own is None else own

    def check_rules(self) -> None:
        """Raises ``ConfigError`` where something that the rules need is not on this machine."""
        for source in self.sources:
            for cleaner in self.rules(source.label):
                cleaner.check()
        for kind in self.dedup:
            kind.check()
        for output in self.against:
            if not seal_of(output):
                raise ConfigError(f"against: {output}: no manifest.json there; name the folder of a finished data set")

    def identity(self) -> dict[str, Any]:
        """What determines the bytes: every plugin's settings and version; ``cleaning`` holds the rules by source.
        ``execution`` and ``output`` are left out: they say how and where, and the same bytes must come out whatever
        they are."""
        document: dict[str, Any] = {}
        for name in sorted(set(type(self).model_fields) - {"against", "cleaning", "execution", "output"}):
            value = getattr(self, name)
            if isinstance(value, list):
                document[name] = [plugin.identity() for plugin in value]
            else:
                document[name] = value.identity() if isinstance(value, Plugin) else value
        document["cleaning"] = {
            source.label: [cleaner.identity() for cleaner in self.rules(source.label)] for source in self.sources
        }
        document["against"] = [seal_of(output) for output in self.against]
        return document

    def fingerprint(self) -> str:
        """32 hex digits of ``identity``."""
        return _digest(self.identity())

    def parts(self) -> dict[str, str]:
        """A fingerprint of each key of ``identity``: what has changed is told from what has not. Every source has one
        for how it is read and cleaned: ``sources.<name>``."""
        document = self.identity()
        rules = document.pop("cleaning")
        document.pop("sources")
        for source in self.sources:
            document[f"sources.{source.label}"] = [source.reading(), rules[source.label]]
        return {key: _digest(value) for key, value in document.items()}

    def settings(self) -> dict[str, Any]:
        """As a file would hold it, every default written out, without ``execution`` and ``output``."""
        return self.model_dump(mode="json", exclude={"execution", "output"})


def _digest(document: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(document, order="deterministic")).hexdigest()[:32]


def _distinct(key: str, names: list[str], remedy: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{key}: {name!r} appears {names.count(name)} times; {remedy}")


def parse(document: Any, origin: str = "configuration") -> PrepareConfig:
    """A configuration from plain values; raises ``ConfigError`` that names ``origin``, the key and what is accepted."""
    if not isinstance(document, dict):
        raise ConfigError(f"{origin}: expected a mapping of keys, got {type(document).__name__}")
    _check_strings(document, origin)
    try:
        return PrepareConfig.model_validate(document)
    except ValidationError as error:
        raise ConfigError(f"{origin}: {explain(error, PrepareConfig)}") from None
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}") from None


def _check_strings(value: Any, origin: str) -> None:
    """No name, path or pattern has a NUL or half a surrogate pair in it."""
    if isinstance(value, str) and ("\0" in value or (not value.isascii() and _SURROGATE.search(value))):
        raise ConfigError(f"{origin}: {value!a:.80}: a text with a NUL or a lone surrogate cannot be used")
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            _check_strings(entry, origin)


def read(path: str | None, settings: dict[str, Any]) -> PrepareConfig:
    """The configuration in a YAML file (None: all defaults) with ``settings`` laid over it.

    ``settings`` maps dotted keys (``tokenizer.vocab_size``, ``sources.0.paths``) to values.
    """
    document = {} if path is None else _yaml(Path(path))
    defaults = PrepareConfig().model_dump(mode="json")
    for key, value in sorted(settings.items(), key=lambda setting: not setting[0].endswith(".kind")):
        top = key.partition(".")[0]
        if top != key and top in defaults and isinstance(document, dict):
            document.setdefault(top, _bare(defaults[top]))
        _assign(document, key, value)
    return parse(document, path or "default configuration")


def _bare(value: Any) -> Any:
    """Default plugins without their settings: another kind that is laid over one must not inherit its seed or size."""
    if isinstance(value, list):
        return [_bare(entry) for entry in value]
    return {"kind": value["kind"]} if "kind" in value else value


def _yaml(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error}") from None
    try:
        document = yaml.load(text, Loader=_StrictLoader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())[:300]}") from None
    return {} if document is None else document


class _StrictLoader(yaml.SafeLoader):
    """A key written twice would silently lose the first: refuse it."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        for key, _ in node.value:
            if names.count(key.value) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is repeated", key.start_mark)
        return super().construct_mapping(node, deep)


def _assign(document: Any, key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for name in parents:
        document = _step(document, name, key)
    if isinstance(document, list) and last.isdigit() and int(last) < len(document):
        document[int(last)] = value
    elif isinstance(document, dict):
        if last == "kind" and document.get("kind") != value:
            document.clear()  # the fields of another kind mean nothing to this one
        document[last] = value
    else:
        raise ConfigError(f"--set {key}: there is no {last!r} to set")


def _step(document: Any, name: str, key: str) -> Any:
    if isinstance(document, list) and name.isdigit() and int(name) < len(document):
        return document[int(name)]
    if isinstance(document, dict):
        return document.setdefault(name, {})
    raise ConfigError(f"--set {key}: there is no {name!r} to step into")
