"""Rows in a published data set: from documents to files, with every id accounted for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import EOT, documents_of, request, write_documents
from plain_packing import best_fit_rows

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError
from gristmill.inspection.verify import verify
from gristmill.storage.rows import RowGroup, read_groups

U2 = np.dtype("<u2")
TEXTS = [chr(97 + number % 26) * (1 + number * 7 % 50) for number in range(300)]


def prepared(folder: Path, texts: list[str] = TEXTS, **packing: Any) -> PrepareConfig:
    write_documents(folder / "in" / "a.jsonl", texts[: len(texts) // 2])
    write_documents(folder / "in" / "b.jsonl", texts[len(texts) // 2 :])
    formats = [{"kind": "parquet_rows", "group": 16}]
    config = request(folder, packing={"length": 63, **packing}, formats=formats, on_removed="tombstone")
    pipeline.prepare(config)
    return config


def groups(config: PrepareConfig) -> list[RowGroup]:
    return list(read_groups(Path(config.destination) / "parquet_rows" / "train-00000.parquet", U2))


def stream(folder: Path) -> list[list[int]]:
    """The documents' ids in order, from nanoGPT's file of the same input, start of text before each."""
    config = request(folder, output=str(folder / "plain"))
    pipeline.prepare(config)
    ids = np.fromfile(folder / "plain" / "nanogpt" / "train.bin", "<u2")
    return [[EOT, *part[:-1].tolist()] for part in np.split(ids, np.flatnonzero(ids == EOT) + 1)[:-1]]


def test_best_fit_rows_are_those_of_the_plain_rule(tmp_path: Path) -> None:
    """From raw text to the file on disk, ids and order of rows."""
    config = prepared(tmp_path, kind="best_fit", buffer=20, refill=8)
    rows = [row.tolist() for group in groups(config) for row in group.ids]
    assert rows == best_fit_rows(stream(tmp_path), 64, buffer=20, refill=8)
    assert len(rows) > 50
    assert not verify(config.destination).problems


@pytest.mark.parametrize("kind", ["no_truncation", "best_fit_decreasing"])
def test_segments_are_documents(tmp_path: Path, kind: str) -> None:
    """``ends`` and ``shards`` must say where each document lies, or masks by source hit the wrong ones."""
    config = prepared(tmp_path, kind=kind)
    wanted = {tuple(ids): place for place, ids in enumerate(stream(tmp_path))}
    seen = 0
    for group in groups(config):
        first = 0
        for row, mask, count in zip(group.ids, group.mask, group.segments.tolist(), strict=True):
            ends = group.ends[first : first + count].tolist()
            for start, end, shard in zip([0, *ends[:-1]], ends, group.shards[first : first + count], strict=True):
                place = wanted[tuple(row[start:end].tolist())]
                assert shard == place // 150
                seen += 1
            assert mask.tolist() == [True] * ends[-1] + [False] * (64 - ends[-1])
            assert (row[ends[-1] :] == EOT).all()
            first += count
    assert seen == len(TEXTS)
    assert not verify(config.destination).problems


def test_a_later_generation_is_packed_by_itself(tmp_path: Path) -> None:
    """Published rows never change; input that is gone is named by its shard in the rows themselves."""
    config = prepared(tmp_path, kind="no_truncation")
    before = (Path(config.destination) / "parquet_rows" / "train-00000.parquet").read_bytes()
    (tmp_path / "in" / "a.jsonl").unlink()
    write_documents(tmp_path / "in" / "c.jsonl", ["new " * 9])
    manifest = pipeline.prepare(config)
    names = ["train-00000.parquet", "train-00000-g00002.parquet"]
    assert [file.path for file in manifest.files] == [f"parquet_rows/{name}" for name in names]
    assert (Path(config.destination) / "parquet_rows" / "train-00000.parquet").read_bytes() == before
    assert manifest.generations[1].tombstones
    assert not verify(config.destination).problems


def test_documents_that_make_no_row_are_refused(tmp_path: Path) -> None:
    """A file without a row would be found by a trainer that has begun."""
    with pytest.raises(InputError, match=r"make no row of 64; choose a shorter packing\.length"):
        prepared(tmp_path, ["a", "b"], kind="best_fit")


@pytest.mark.parametrize(
    ("packing", "format", "reason"),
    [("best_fit", "nanogpt", "makes rows of 2049 ids"), ("concat", "parquet_rows", "makes one stream")],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, packing: str, format: str, reason: str) -> None:
    """Before any work, with what would go."""
    with pytest.raises(ConfigError, match=f"formats: {format} .*{reason}.*choose"):
        request(tmp_path, packing={"kind": packing}, formats=[{"kind": format}])


def test_the_texts_are_really_there(tmp_path: Path) -> None:
    """Guards the tests above against an empty reference."""
    write_documents(tmp_path / "in" / "a.jsonl", TEXTS)
    config = request(tmp_path)
    pipeline.prepare(config)
    assert documents_of(Path(config.destination) / "nanogpt" / "train.bin") == TEXTS
