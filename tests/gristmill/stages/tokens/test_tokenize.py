"""Documents of megabytes are written piece by piece among the others, and stand where they would have stood."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import request, small_corpus, tree, write_documents
from data import GPT2
from tokenizers import Tokenizer

from gristmill import pipeline
from gristmill.stages.tokens import tokenize
from gristmill.stages.tokens._compare import LONGEST

LEAST = LONGEST + 1
"""Documents of more bytes are written alone here; else from 4 MiB on."""


def corpus() -> list[str]:
    """Long documents first, last, between short ones and side by side."""
    short = small_corpus(40)
    words = "".join(chr(97 + place * place % 26) for place in range(9973))
    long = [words * 10, "It is said. \n" * 6_000, "\u4e2d\u6587" * 15_000, "\U0001f600=" * 14_000]
    return [long[0], *short[:20], long[1], long[2], *short[20:], long[3]]


@pytest.mark.parametrize(
    "settings",
    [
        {"ordering": {"kind": "input"}},
        {"ordering": {"kind": "hashed"}},
        {"ordering": {"kind": "input"}, "split": {"kind": "characters", "fraction": 0.8}},  # cuts the first one
    ],
    ids=str,
)
def test_long_documents_change_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    """Written past the runs, their places in the index would be those of other documents."""
    found = []
    for name, alone in (("usual", 1 << 40), ("alone", LEAST)):
        monkeypatch.setattr(tokenize, "ALONE", alone)
        write_documents(tmp_path / name / "in" / "a.jsonl", corpus())
        pipeline.prepare(request(tmp_path / name, **settings))
        found.append(tree(tmp_path / name / "out" / "nanogpt"))
    assert found[0] == found[1]
    assert "train.bin" in found[0]


def test_long_documents_have_the_ids_of_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenize, "ALONE", LEAST)
    write_documents(tmp_path / "in" / "a.jsonl", corpus())
    pipeline.prepare(request(tmp_path, tokenizer={"kind": "huggingface", "path": str(GPT2)}))
    reference = Tokenizer.from_file(str(GPT2))
    wanted = [[*row.ids, 50256] for row in reference.encode_batch(corpus())]
    found = np.fromfile(tmp_path / "out" / "nanogpt" / "train.bin", "<u2")
    assert found.tolist() == [number for row in wanted for number in row]
