"""Filters that follow each other, judged on the same batch."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gristmill.cleaning.base import Filter


def verdicts(filters: Sequence[Filter], documents: pa.RecordBatch) -> list[pa.StringArray]:
    """The reasons of each filter, null where a filter before it dropped the document.

    The same as to take the dropped documents out between one filter and the next, since a filter judges each document
    by itself; but the filters see the same texts, and share what was found in them instead of finding it again.
    """
    found: list[pa.StringArray] = []
    nothing = pa.scalar(None, pa.string())
    kept = pa.array([True] * len(documents), pa.bool_())
    for cleaner in filters:
        reasons = cleaner.reasons(documents)
        found.append(pc.if_else(kept, reasons, nothing))
        kept = pc.and_(kept, pc.is_null(reasons))
    return found
