"""What every cleaning rule and filter offers. A cleaner is pure: the same documents in, the same out."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.columns import strings
from gristmill.plugins import Plugin


class Cleaner(Plugin):
    """Either a ``Rule`` (rewrites texts) or a ``Filter`` (drops documents with a reason)."""


class Rule(Cleaner):
    """Rewrites the text of every document; never changes their number or order."""

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        """New texts, one per input text. ``texts`` has no nulls; neither may the result."""
        raise NotImplementedError


class Filter(Cleaner):
    """Drops documents, each with a reason."""

    def reasons(self, documents: pa.RecordBatch) -> pa.StringArray:
        """One reason per document of ``DOCUMENT_SCHEMA``; null keeps the document."""
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
    by itself; but the filters see the same texts, and share what was found in them instead of finding it again.
    """
    found: list[pa.StringArray] = []
    nothing = pa.scalar(None, pa.string())
    kept = pa.array(np.ones(len(documents), bool))
    for cleaner in filters:
        reasons = cleaner.reasons(documents)
        found.append(pc.if_else(kept, reasons, nothing))
        kept = pc.and_(kept, pc.is_null(reasons))
    return found
