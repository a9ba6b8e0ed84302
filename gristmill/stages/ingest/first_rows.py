"""The first rows of the input, read before anything is made of them: are the keys there, and what is a document?"""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from gristmill.config import PrepareConfig
from gristmill.errors import GristmillError, InputError
from gristmill.sources._keyed import KeyedSource
from gristmill.sources._names import kind_of
from gristmill.sources.base import Source
from gristmill.types import DANGLING, DOCUMENT_SCHEMA, Excerpt, FirstRows, ShardRef

DOCUMENTS = 3
ROWS = 1000
CHUNKS = 8
"""Read at most, of about 4 MB of text each, until there are documents to show."""

EXCERPT_CHARACTERS = 160


def first_rows(shards: Sequence[ShardRef], config: PrepareConfig) -> list[FirstRows]:
    """Of the first file of every kind of every source.

    Raises ``InputError`` ``no_text_column`` where it has no text by the name that the source gives, unless damaged
    files are left out: then it is a remark, as is a file that is damaged or cannot be read now.
    """
    found = []
    for source in config.sources:
        own = [shard for shard in shards if shard.source == source.label and shard.identity != DANGLING]
        kinds = {kind_of(shard.uri): shard for shard in reversed(own)}
        looked = [_looked(source, shard, config) for shard in sorted(kinds.values(), key=lambda shard: shard.index)]
        if looked:
            looked[0] = replace(looked[0], remarks=[*looked[0].remarks, *source.remarks(own)])
        found += looked
    return found


def _looked(source: Source, shard: ShardRef, config: PrepareConfig) -> FirstRows:
    keys = source.fields().side_keys if isinstance(source, KeyedSource) else []
    probe = source.model_copy(update={"columns": keys}) if keys else source  # a column a key, null where it is absent
    documents: list[Excerpt] = []
    remarks: list[str] = []
    bad: Counter[str] = Counter()
    rows, absent = 0, set(keys)
    try:
        for chunk in islice(probe.read(shard), CHUNKS):
            bad.update(fault.reason for fault in chunk.bad)
            head = chunk.documents.slice(0, ROWS)
            rows += len(head)
            columns = head.columns[len(DOCUMENT_SCHEMA) :]
            absent -= {key for key, column in zip(keys, columns, strict=False) if column.null_count < len(column)}
            documents += _excerpts(head)
            if len(documents) >= DOCUMENTS:
                break
    except InputError as error:
        if error.reason == "no_text_column" and config.on_bad_file == "fail":
            raise
        remarks.append(str(error))
    except GristmillError as error:
        remarks.append(f"{shard.uri}: cannot be read now: {error}")
    if bad.total() > config.max_quarantined_share * (rows + bad.total()):
        listed = ", ".join(f"{reason} {count}" for reason, count in bad.most_common())
        remarks.append(f"{shard.uri}: of the first {rows + bad.total()} rows {bad.total()} cannot be used: {listed}")
    if rows and isinstance(source, KeyedSource):
        remarks += [
            f"{shard.uri}: none of the first {rows} documents has the key {key!r} {_without(key, source)}"
            for key in keys
            if key in absent
        ]
    return FirstRows(source=source.label, uri=shard.uri, documents=documents[:DOCUMENTS], remarks=remarks)


def _without(key: str, source: KeyedSource) -> str:
    if key == source.id_key:
        return "(id_key): their ids are file name and line or row"
    return f"(source_key): their source is {source.label}" if key == source.source_key else "(columns): it is empty"


def _excerpts(documents: pa.RecordBatch) -> list[Excerpt]:
    rows: list[dict[str, Any]] = documents.select([0, 1]).slice(0, DOCUMENTS).to_pylist()
    return [Excerpt(id=row["id"], text=row["text"][:EXCERPT_CHARACTERS], characters=len(row["text"])) for row in rows]
