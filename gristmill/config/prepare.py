"""The configuration that a user writes: what to make, never how many processes make it."""

import datetime
import hashlib
import re
from typing import Annotated, Any, Literal, Self, TypeVar

import msgspec
from pydantic import ConfigDict, Field, ValidationError, model_validator

from gristmill.addresses import public
from gristmill.cleaning.base import Cleaner
from gristmill.config.execution import Execution
from gristmill.config.mixture import check_mixture
from gristmill.dedup.base import DedupKind
from gristmill.errors import ConfigError
from gristmill.formats.base import Format
from gristmill.manifest import seal_of
from gristmill.ordering.base import Ordering
from gristmill.packing.base import Packing
from gristmill.plugins import Plugin, Room, explain, load
from gristmill.settings import FULL_ADDRESSES, Location, Rehearsal, Settings
from gristmill.sources.base import Source
from gristmill.splits.base import Split
from gristmill.tokenizers.base import Tokenizer

MIXTURE = ("mix", "total_tokens", "max_repetition")
"""Keys that mean nothing one without the other."""

Sort = TypeVar("Sort", bound=DedupKind)

Repetition = Annotated[float, Field(gt=0, le=1000)]

REHEARSAL = "-rehearsal-"
"""In the name of every data set that is a rehearsal."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def one(room: str, kind: str, description: str) -> Any:
    """A field whose default is the plugin of this kind, made when the field is missing."""
    return Field(
        default_factory=lambda: load(room, {"kind": kind}),
        description=description,
        json_schema_extra=lambda schema: schema.update(default=load(room, {"kind": kind}).settings()),
    )


def several(room: str, *kinds: str, description: str, least: int = 0) -> Any:
    """A list field whose default is one plugin of each kind."""
    return Field(
        default_factory=lambda: [load(room, {"kind": kind}) for kind in kinds],
        description=description,
        min_length=least,
        json_schema_extra=lambda schema: schema.update(
            default=[load(room, {"kind": kind}).settings() for kind in kinds]
        ),
    )


class PrepareConfig(Settings):
    """Everything that determines the output. Every part has a default; the whole default documents Python itself."""

    model_config = ConfigDict(title="Prepare a data set")

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
    against: list[Location] = Field(
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
    mix: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        {}, description="Share of the training tokens by source name; every source has one. Empty: all is published."
    )
    total_tokens: int | None = Field(
        None,
        ge=1,
        description="Training tokens of a generation; default: as many as the scarcest source allows.",
    )
    max_repetition: Repetition | dict[str, Repetition] = Field(
        1.0, description="How often a source may be repeated to reach its share, 2.5 say; for all, or by source name."
    )
    formats: list[Annotated[Format, Room("formats")]] = several(
        "formats", "nanogpt", description="One output a kind.", least=1
    )
    output: Location = Field(
        "", description="Where the data set goes; {date} becomes the day of the run; default: out/<dataset>."
    )
    on_bad_document: Literal["quarantine", "fail"] = Field(
        "quarantine", description="What a document that cannot be used does."
    )
    max_quarantined_share: float = Field(
        0.01, ge=0, le=1, description="More unusable documents than this fail the run."
    )
    on_bad_file: Literal["fail", "quarantine"] = Field("fail", description="What a damaged input file does.")
    on_skipped: Literal["report", "fail"] = Field(
        "report",
        description="What files do that the folders and globs of a source pass over (other suffixes, hidden, "
        "unfinished, empty): they are counted by reason and suffix, or stop the run.",
    )
    on_removed: Literal["keep", "tombstone"] = Field(
        "keep",
        description="What an input file that is gone does to its documents, which stay published: nothing, or a list "
        "of their places for loaders to pass over.",
    )
    rehearse: Rehearsal | None = Field(
        None,
        title="Rehearsal",
        description="Sample the input, make a data set of its own beside the real one, and judge each of its figures.",
    )
    execution: Execution = Field(Execution(), description="How the work is carried out; changes no byte.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _distinct("sources", [source.label for source in self.sources], "give each a different name")
        self.sources[:] = [source.resolved(self.cleaning) for source in self.sources]  # a list of our own making
        _distinct("formats", [format.kind() for format in self.formats], "list each kind once")
        self.split.check_ordering(self.ordering.kind())
        check_mixture(self.mix, self.total_tokens, self.max_repetition, [source.label for source in self.sources])
        if self.mix:
            self.split.check_mix()
        if self.rehearse and self.rehearse.share and REHEARSAL not in self.dataset:
            raise ConfigError("rehearse.share: set by the run; give rehearse.tokens alone")
        if self.execution.runner == "work_pool" and any(map(_has_secrets, self.sources)):
            raise ConfigError(
                "execution.runner: work_pool leaves its orders in files, and sources have an address with a user, a "
                "password or a signature; choose local, dask or ray"
            )
        for format in self.formats:
            self.packing.check_format(format.kind(), format.holds)
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

    def beside(self, what: str = "-") -> Self:
        """The same as a data set of its own, named by ``what`` and its fingerprint: for other rules than those that it
        was published by. Stage outputs that are still valid are reused."""
        mark = f"{what}{self.fingerprint()[:8]}"
        output = f"{self.destination.rstrip('/')}{mark}"  # never inside the folder that it stands beside
        return self.model_copy(update={"dataset": f"{self.dataset}{mark}", "output": output})

    def source(self, label: str) -> Source:
        """The source of this name."""
        return next(source for source in self.sources if source.label == label)

    @property
    def programs(self) -> list[str]:
        """The sources of programs, in which lines and indentation count."""
        return sorted(source.label for source in self.sources if source.genre == "code")

    def format(self, kind: str) -> Format:
        """The format of this kind."""
        return next(format for format in self.formats if format.kind() == kind)

    def dedup_of(self, sort: type[Sort]) -> dict[int, Sort]:
        """The kinds of dedup of one sort (``Dedup``, ``Screen``, ``SpanDedup``) by their numbers in ``dedup``."""
        return {number: kind for number, kind in enumerate(self.dedup) if isinstance(kind, sort)}

    @property
    def holds_text(self) -> bool:
        """Whether a format holds the cleaned text."""
        return any(format.holds == "text" for format in self.formats)

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
        they are; ``on_skipped``, since it says whether a run begins; ``rehearse``, since the sources then have its
        sample in their own settings."""
        document: dict[str, Any] = {}
        hidden = {"against", "cleaning", "execution", "on_skipped", "output", "rehearse", *MIXTURE}
        for name in sorted(set(type(self).model_fields) - hidden):
            value = getattr(self, name)
            if isinstance(value, list):
                document[name] = [plugin.identity() for plugin in value]
            else:
                document[name] = value.identity() if isinstance(value, Plugin) else value
        document["cleaning"] = {
            source.label: [cleaner.identity() for cleaner in self.rules(source.label)] for source in self.sources
        }
        document["against"] = [seal_of(output) for output in self.against]
        if self.programs and self.dedup:
            document["programs"] = self.programs
        return document | self.mixture()

    def mixture(self) -> dict[str, Any]:
        """What is said of mixing; empty where nothing is mixed."""
        return {name: getattr(self, name) for name in MIXTURE} if self.mix else {}

    def fingerprint(self) -> str:
        """32 hex digits of ``identity``."""
        return _digest(self.identity())

    def parts(self) -> dict[str, str]:
        """A fingerprint of each key of ``identity``: what has changed is told from what has not. Every source has one
        for how it is read and cleaned: ``sources.<name>``."""
        document = self.identity()
        rules = document.pop("cleaning")
        document.pop("sources")
        programs = document.pop("programs", [])
        for source in self.sources:
            document[f"sources.{source.label}"] = [
                source.reading(),
                rules[source.label],
                *([True] if source.label in programs else []),
            ]
        return {key: _digest(value) for key, value in document.items()}

    def settings(self) -> dict[str, Any]:
        """As a file would hold it, every default written out, without ``execution`` and ``output``."""
        return self.model_dump(mode="json", exclude={"execution", "output"})


def _has_secrets(source: Source) -> bool:
    return source.settings(FULL_ADDRESSES) != source.settings()


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
        raise ConfigError(f"{origin}: {public(value)!a:.80}: a text with a NUL or a lone surrogate cannot be used")
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            _check_strings(entry, origin)
