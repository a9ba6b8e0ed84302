"""Real and made-up texts for the cleaning tests."""

import pyarrow as pa
from data import odd_texts
from data import real_texts as all_texts
from hypothesis import strategies as st

from gristmill.types import DOCUMENT_SCHEMA

PIECES = st.sampled_from(
    rb"word|a|Of the|  | |\t|\n|\n\n|\r\n|\r|\x00|\x0c|\x85|\x7f|\u00a0|\u3000|\u4e2d\u6587|\u3002|\u0e01\u0e33"
    rb"|\u0e40\u0e01\u0e48|e\u0301|\u00e9|\ufb01|\U0001f600|...|\u2026|- |\u2022 |#|#!|{|.|\u3001|javascript"
    rb"|lorem ipsum|\u200b|\u212b|same line\n".decode("unicode_escape").split("|")
)
ANY_TEXT = st.one_of(
    st.lists(PIECES, max_size=40).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
)


def real_texts(count: int = 300) -> tuple[str, ...]:
    """Texts spread evenly over the real ones."""
    texts = all_texts()
    return texts[:: max(1, len(texts) // count)]


def sample(longest: int = 8_000) -> list[str]:
    """A few hundred real and odd documents that plain Python reads in well under a second."""
    return [text for text in (*real_texts(250), *odd_texts()[::4]) if len(text) <= longest]


def strings(texts: "list[str] | tuple[str, ...]") -> pa.StringArray:
    return pa.array(list(texts), pa.string())


def documents(texts: "list[str] | tuple[str, ...]", **columns: "list[str | None]") -> pa.RecordBatch:
    """A batch of the document schema, with further string columns."""
    batch = pa.record_batch(
        [pa.array([f"d{n}" for n in range(len(texts))]), strings(texts), pa.array(["test"] * len(texts), pa.string())],
        schema=DOCUMENT_SCHEMA,
    )
    for name, values in columns.items():
        batch = batch.append_column(name, pa.array(values, pa.string()))
    return batch
