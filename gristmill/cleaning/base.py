"""What every cleaning rule and filter offers. A cleaner is pure: the same documents in, the same out."""

import pyarrow as pa

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
        return pa.array([self.reason(text) for text in documents.column("text").to_pylist()], pa.string())
