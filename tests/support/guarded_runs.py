"""A job whose every input is behind a password or a signature, with documents for each part of the report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from corpora import cut_short, request, write_documents
from guarded import Guarded

from gristmill.config import PrepareConfig


def inputs(folder: Path) -> None:
    """Files with good, equal, short and unusable documents."""
    texts = [f"document number {number} of the corpus that only some may read" for number in range(60)]
    write_documents(folder / "a" / "x.jsonl.gz", [*texts[:20], texts[0], "short"])
    lines = write_documents(folder / "b" / "y.jsonl", [*texts[20:40], texts[1]])
    lines.write_bytes(lines.read_bytes() + b'{"text": 1}\n')
    cut_short(write_documents(folder / "c" / "cut.jsonl.gz", texts))
    pq.write_table(pa.table({"text": [*texts[40:], texts[2]]}), folder / "b" / "z.parquet")


def asked(folder: Path, server: Guarded, number: int = 0, more: Sequence[Any] = ()) -> PrepareConfig:
    """The configuration, one address signed for the first or second time."""
    sources = [
        {"kind": "files", "name": "signed", "paths": [server.signed("a/x.jsonl.gz", number)]},
        {"kind": "files", "name": "login", "paths": [server.with_password("b/*")]},
        *more,
    ]
    rules = {"cleaning": [{"kind": "length", "min_chars": 10}], "dedup": [{"kind": "exact"}]}
    return request(folder, sources=sources, max_quarantined_share=0.5, **rules)
