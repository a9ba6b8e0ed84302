"""Further columns of a batch, which filters on metadata read."""

import pyarrow as pa

from gristmill.errors import ConfigError
from gristmill.types import DOCUMENT_SCHEMA


def column(documents: pa.RecordBatch, name: str, kind: str) -> pa.Array:
    """The column as strings, nulls where a document has no value; raises ``ConfigError`` that lists the columns."""
    names = documents.schema.names
    if name not in names:
        further = [other for other in names if other not in DOCUMENT_SCHEMA.names]
        raise ConfigError(f"{kind}: no column {name!r}; the documents carry: {', '.join(further) or 'none'}")
    return documents[name].cast(pa.string())
