"""Packed rows read back with their masks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import EOT, request, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.readers.loader import Loader
from gristmill.readers.rows import Rows
from gristmill.storage.rows import read_groups


def prepared(folder: Path, **packing: Any) -> PrepareConfig:
    for number, name in enumerate("ab"):
        write_documents(
            folder / "in" / f"{name}.jsonl", [name * (1 + (number + place * 7) % 50) for place in range(80)]
        )
    formats = [{"kind": "parquet_rows", "group": 8}]
    packing = {"kind": "no_truncation", "length": 63, **packing}
    config = request(folder, packing=packing, formats=formats, on_removed="tombstone", ordering={"kind": "hashed"})
    pipeline.prepare(config)
    return config


def written(config: PrepareConfig) -> tuple[np.ndarray, np.ndarray]:
    groups = list(read_groups(Path(config.destination) / "parquet_rows" / "train-00000.parquet", np.dtype("<u2")))
    return np.concatenate([group.ids for group in groups]), np.concatenate([group.mask for group in groups])


def test_rows_are_those_of_the_file(tmp_path: Path) -> None:
    config = prepared(tmp_path)
    rows = Rows(config.destination)
    ids, mask = written(config)
    assert rows.length == 63
    assert rows.blocks.sum() == len(ids) > 50
    found = rows.read(np.arange(len(ids)))
    assert np.array_equal(found.ids, ids)
    assert np.array_equal(found.mask, mask)
    batch = Loader(rows, batch=len(ids)).next()
    assert sorted(batch.x[:, 1:].tolist()) == sorted(ids[:, 1:-1].tolist())
    assert batch.mask.sum() == mask[:, 1:].sum()
    assert not batch.mask.all()


def test_documents_of_input_that_is_gone_become_padding(tmp_path: Path) -> None:
    """No id of theirs is seen, not even as context of the next document in the row."""
    config = prepared(tmp_path)
    before = Rows(config.destination).read(np.arange(5)).ids
    (tmp_path / "in" / "a.jsonl").unlink()
    pipeline.prepare(config)
    rows = Rows(config.destination)
    found = rows.read(np.arange(rows.blocks.sum()))
    ids, mask = written(config)
    of_a = np.isin(ids, np.unique(ids[mask])) & (ids != EOT) & (ids == ids[ids != EOT].min())
    assert of_a.sum() > 100
    assert (found.ids[of_a] == EOT).all()
    assert not found.mask[of_a].any()
    kept = (ids != EOT) & ~of_a
    assert np.array_equal(found.ids[kept], ids[kept])
    assert found.mask[kept].all()
    assert before.tolist() != found.ids[:5].tolist()


def test_a_data_set_without_rows_is_refused(tmp_path: Path) -> None:
    write_documents(tmp_path / "in" / "a.jsonl", ["some text"])
    config = request(tmp_path)
    pipeline.prepare(config)
    with pytest.raises(ConfigError, match=r"no format of rows \(parquet_rows\); there are: nanogpt"):
        Rows(config.destination)
    with pytest.raises(ConfigError, match="its ids are uint16, not uint32"):
        Rows(config.destination, dtype="uint32")
