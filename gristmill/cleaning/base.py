"""What every cleaning rule and filter offers. A cleaner is pure: the same documents in, the same out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.cleaning._utf8 import Bools, Floats, Ints, newlines
from gristmill.columns import strings
from gristmill.errors import ConfigError
from gristmill.plugins import Plugin


class Cleaner(Plugin):
    """Either a ``Rule`` (rewrites texts) or a ``Filter`` (drops documents with a reason)."""

    genres: ClassVar[dict[str, dict[str, Any]]] = {}
    """Presets: by genre of the source, values for fields that the configuration does not set."""

    def for_genre(self, genre: str) -> Self:
        """The same with the genre's values for the fields that nobody set.

        ``model_fields_set`` still holds what was asked for and no more, so that a preset can be told from a setting.
        Raises ``ConfigError`` where a preset contradicts a setting.
        """
        asked = {name: value for name, value in self if name in self.model_fields_set}
        preset = {name: value for name, value in self.genres.get(genre, {}).items() if name not in asked}
        if not preset:
            return self
        try:
            resolved = self.parse({**asked, **preset})
        except ConfigError as error:
            given = ", ".join(f"{name} {value}" for name, value in preset.items())
            raise ConfigError(f"{error}; genre {genre} gives {given}, set it yourself") from None
        return cast(Self, type(self).model_construct(_fields_set=set(asked), **dict(resolved)))

    def check(self) -> None:
        """Raises ``ConfigError`` where something is missing on this machine: a package, a file, a permission."""


class Rule(Cleaner):
    """Rewrites the text of every document; never changes their number or order."""

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        """New texts, one per input text. ``texts`` has no nulls; neither may the result."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A figure of every document of a batch, and the threshold by which some are dropped; bool where it is no figure
    but a finding, which drops."""

    values: Bools | Ints | Floats
    """NaN: the threshold does not apply."""
    least: float | None = None
    """Lower values are dropped."""
    most: float | None = None
    """Higher values are dropped."""

    @property
    def failed(self) -> Bools:
        """Which documents are dropped."""
        if self.least is not None:
            return self.values < self.least
        return self.values > (0 if self.most is None else self.most)


class Filter(Cleaner):
    """Drops documents, each with a reason: override ``measures``, or ``reasons`` where there is nothing to measure."""

    def measures(self, documents: pa.RecordBatch) -> dict[str, Measured]:
        """What is measured of the documents of a batch, by the reason for dropping one; the first that fails counts."""
        del documents
        return {}

    def reasons(self, documents: pa.RecordBatch) -> pa.StringArray:
        """One reason per document of ``DOCUMENT_SCHEMA``; null keeps the document. ``verdicts`` asks with texts whose
        lines end in a newline each."""
        return first_reasons(self.measures(documents), len(documents))


class DocumentFilter(Filter):
    """A filter written for one document at a time: override ``reason`` and nothing else."""

    def reason(self, text: str) -> str | None:
        """Why the document is dropped, or None to keep it."""
        raise NotImplementedError

    def reasons(self, documents: pa.RecordBatch) -> pa.StringArray:
        return strings([self.reason(text) for text in documents.column("text").to_pylist()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a filter says of a batch."""

    reasons: pa.StringArray
    """Null where the document stays, or a filter before dropped it."""
    reached: Bools
    """Which documents no filter before dropped."""
    measured: dict[str, Measured]
    """By reason, of all documents of the batch; empty where the filter measures nothing."""


def verdicts(filters: Sequence[Filter], documents: pa.RecordBatch) -> list[Verdict]:
    """What each filter says.

    The same as to take the dropped documents out between one filter and the next, since a filter judges each document
    by itself; but the filters see the same texts, and share what was found in them instead of finding it again. They
    see one newline where a text has CRLF or CR: how a file ends its lines decides on no document.
    """
    place = documents.schema.get_field_index("text")
    documents = documents.set_column(place, documents.schema.field(place), newlines(documents.column(place)))
    found: list[Verdict] = []
    nothing = pa.scalar(None, pa.string())
    kept = np.ones(len(documents), np.bool_)
    for cleaner in filters:
        measured = cleaner.measures(documents)
        reasons = first_reasons(measured, len(documents)) if measured else cleaner.reasons(documents)
        reasons = pc.if_else(pa.array(kept), reasons, nothing)
        found.append(Verdict(reasons=reasons, reached=kept, measured=measured))
        kept = kept & pc.is_null(reasons).to_numpy(zero_copy_only=False)
    return found


def first_reasons(measured: dict[str, Measured], documents: int) -> pa.StringArray:
    """For each document the first reason that drops it; null where none does."""
    codes = np.full(documents, -1, np.int32)
    for code, figure in reversed(list(enumerate(measured.values()))):
        codes[figure.failed] = code
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), strings(list(measured))).cast(pa.string())
