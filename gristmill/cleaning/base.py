"""What every cleaning rule and filter offers. A cleaner is pure: the same documents in, the same out."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.cleaning._utf8 import newlines
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


class Filter(Cleaner):
    """Drops documents, each with a reason."""

    def reasons(self, documents: pa.RecordBatch) -> pa.StringArray:
        """One reason per document of ``DOCUMENT_SCHEMA``; null keeps the document. ``verdicts`` calls it with texts
        whose lines end in a newline each."""
        raise NotImplementedError


class DocumentFilter(Filter):
    """A filter written for one document at a time: override ``reason`` and nothing else."""

    def reason(self, text: str) -> str | None:
        """Why the document is dropped, or None to keep it."""
        raise NotImplementedError

    def reasons(self, documents: pa.RecordBatch) -> pa.StringArray:
        return strings([self.reason(text) for text in documents.column("text").to_pylist()])


def verdicts(filters: Sequence[Filter], documents: pa.RecordBatch) -> list[pa.StringArray]:
    """The reasons of each filter, null where a filter before it dropped the document.

    The same as to take the dropped documents out between one filter and the next, since a filter judges each document
    by itself; but the filters see the same texts, and share what was found in them instead of finding it again. They
    see one newline where a text has CRLF or CR: how a file ends its lines decides on no document.
    """
    place = documents.schema.get_field_index("text")
    documents = documents.set_column(place, documents.schema.field(place), newlines(documents.column(place)))
    found: list[pa.StringArray] = []
    nothing = pa.scalar(None, pa.string())
    kept = pa.array(np.ones(len(documents), bool))
    for cleaner in filters:
        reasons = cleaner.reasons(documents)
        found.append(pc.if_else(kept, reasons, nothing))
        kept = pc.and_(kept, pc.is_null(reasons))
    return found
