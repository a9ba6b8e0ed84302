"""What the readers of rows share: which keys are asked for, and how values become columns of text."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gristmill.columns import strings
from gristmill.sources.base import BadDocument
from gristmill.types import DOCUMENT_SCHEMA, Value

CHUNK_BYTES = 4 << 20
"""About how much text a chunk carries."""

BAD_PER_CHUNK = 10_000
"""A chunk is handed on at this many bad documents: a binary file full of line feeds must not fill the memory."""

MISSING = object()

JOIN = 'a list of strings with text_join set: "\\n\\n" for paragraphs, " " for words'
"""What makes a list a text, for messages."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_EXCERPT_CHARS = 200


class Fields(Value, frozen=True, kw_only=True):
    """The keys of a row that a source asks for: see ``dig``."""

    text_key: str
    id_key: str | None = None
    source_key: str | None = None
    columns: list[str]
    label: str
    """Value of the ``source`` column where ``source_key`` gives none."""
    text_join: str | None = None
    """Stands between the strings of a text that is a list; None: a list is no text."""

    def joined(self, text: Any) -> Any:
        """A list of strings as one; None for a list with a null in it; any other value as it is."""
        if self.text_join is None or not isinstance(text, list):
            return text
        if not all(value is None or isinstance(value, str) for value in text):
            return text
        return None if None in text else self.text_join.join(text)

    @property
    def side_keys(self) -> list[str]:
        """Every key but the text's, each once."""
        keys = [key for key in (self.id_key, self.source_key) if key is not None]
        return list(dict.fromkeys(keys + self.columns))

    @property
    def schema(self) -> pa.Schema:
        """``DOCUMENT_SCHEMA`` and one nullable string column per entry of ``columns``."""
        return pa.schema([*DOCUMENT_SCHEMA, *(pa.field(name, pa.string()) for name in self.columns)])

    def batch(
        self, texts: Sequence[str] | pa.StringArray, sides: Mapping[str, Sequence[Any]], own_ids: Iterable[str]
    ) -> pa.RecordBatch:
        """Documents of ``schema``. ``sides`` holds the values of every side key, ``own_ids`` an id for each row
        that brings none."""
        ids = list(own_ids)
        if self.id_key is not None:
            given = _texts(sides[self.id_key])
            ids = [own if value is None else value for value, own in zip(given, ids, strict=True)]
        if self.source_key is None:
            sources = pa.repeat(pa.scalar(self.label, pa.string()), len(texts))
        else:
            given = _texts(sides[self.source_key])
            sources = strings([self.label if value is None else value for value in given])
        extra = [strings(_texts(sides[name])) for name in self.columns]
        column = texts if isinstance(texts, pa.StringArray) else strings(texts)
        arrays = [strings(ids), column, sources, *extra]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _texts(values: Sequence[Any]) -> list[str | None]:
    return [value if value is None or (type(value) is str and value.isascii()) else as_text(value) for value in values]


def as_text(value: Any) -> str:
    """A string as it is, anything else as compact JSON; half of a surrogate pair as its escape, since no UTF-8 column
    can hold it."""
    text = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    )
    return text if text.isascii() else _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def dig(value: Any, key: str, default: Any = None) -> Any:
    """What a key leads to in nested objects, or ``default``. A key with dots in its name comes before a step into an
    object, at every depth: ``a.b.c``, then ``c`` in ``a.b``, then ``b.c`` in ``a``."""
    if not isinstance(value, dict):
        return default
    if key in value:
        return value[key]
    for head, tail in splits(key):
        if (found := dig(value.get(head), tail, MISSING)) is not MISSING:
            return found
    return default


def splits(key: str) -> Iterator[tuple[str, str]]:
    """A key cut at each of its dots, the last first."""
    return ((key[:n], key[n + 1 :]) for n in range(len(key) - 1, 0, -1) if key[n] == ".")


def fault_of(text: Any, document_chars: int) -> str:
    """Why a value cannot be the text of a document, in the words of ``BadDocument.reason``; empty when it can."""
    if text is MISSING:
        return "missing_text"
    if text is None:
        return "null_text"
    if not isinstance(text, str):
        return "non_string_text"
    if not text:
        return "empty_text"
    if len(text) > document_chars:
        return "document_too_long"
    return "lone_surrogate" if not text.isascii() and _SURROGATE.search(text) else ""


def bad(reason: str, place: str, offset: int, raw: bytes | None) -> BadDocument:
    """The record of a document set aside; ``raw`` is what stood there (None: nothing)."""
    head = (raw or b"")[: 4 * _EXCERPT_CHARS].decode("utf-8", "surrogateescape")
    excerpt = head.encode("unicode_escape").decode("ascii")[:_EXCERPT_CHARS]
    return BadDocument(reason=reason, place=place, offset=offset, excerpt=excerpt)
