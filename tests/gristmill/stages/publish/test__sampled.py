"""A few documents that speak for all of them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gristmill.stages.ingest._arrow import DocumentWriter
from gristmill.stages.publish import _sampled
from gristmill.stages.publish._sampled import EACH, PLACES, sampled
from gristmill.types import StageReport


def piece(folder: Path, number: int, texts: list[str], batch: int = 100) -> StageReport:
    """The report of a cleaned piece with these texts."""
    schema = pa.schema([pa.field("text", pa.string())])
    writer = DocumentWriter(folder / f"{number}.arrow", "plain")
    for first in range(0, len(texts), batch):
        writer.write(pa.record_batch({"text": texts[first : first + batch]}, schema=schema))
    artifacts = {"documents": writer.close(schema)}
    return StageReport(
        stage="clean", shard=number, fingerprint="", docs_in=len(texts), docs_out=len(texts), artifacts=artifacts
    )


def test_all_of_a_small_corpus_is_in_it(tmp_path: Path) -> None:
    texts = [str(number) for number in range(500)]
    pieces = [piece(tmp_path, 0, texts[:3]), piece(tmp_path, 1, []), piece(tmp_path, 2, texts[3:])]
    assert list(sampled(pieces)) == texts
    assert list(sampled([])) == list(sampled([piece(tmp_path, 3, [])])) == []


def test_documents_of_large_and_small_pieces_are_as_likely(tmp_path: Path) -> None:
    """By piece instead, a hundred small files of one language would outweigh one large file of another."""
    large = piece(tmp_path, 0, ["large"] * 20_000, batch=5000)
    small = [piece(tmp_path, number, ["small"] * 100) for number in range(1, 51)]
    found = list(sampled([large, *small]))
    assert len(found) == PLACES * EACH
    assert found.count("small") / len(found) == pytest.approx(0.2, abs=0.02)


def test_sources_that_take_turns_are_both_seen(tmp_path: Path) -> None:
    """Documents at even distances might all be of the same one."""
    found = list(sampled([piece(tmp_path, 0, ["even", "odd"] * 20_000, batch=5000)]))
    assert found.count("odd") / len(found) == pytest.approx(0.5, abs=0.06)


def test_it_is_the_same_every_time_and_each_document_once(tmp_path: Path) -> None:
    """The figures are sealed in the manifest: a rerun must give the same bytes."""
    pieces = [piece(tmp_path, number, [f"{number}-{row}" for row in range(3000)]) for number in range(3)]
    first = list(sampled(pieces))
    assert first == list(sampled(pieces))
    assert len(set(first)) == len(first) == PLACES * EACH


@pytest.mark.parametrize("documents", [0, 1, 63, 64, 65, 1023, 1024, 1025, 10**9])
def test_the_sample_is_sorted_and_within_the_corpus(documents: int) -> None:
    wanted = _sampled._wanted(documents)
    assert len(wanted) == min(documents, PLACES * EACH)
    assert (np.diff(wanted) > 0).all()
    assert not len(wanted) or (wanted[0] >= 0 and wanted[-1] < documents)
