"""What every source offers beyond its documents: a sample by hash, and limits for a rehearsal."""

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from corpora import published, reports, request
from hypothesis import given
from hypothesis import strategies as st
from reading import Read

from gristmill import pipeline
from gristmill.errors import ConfigError
from gristmill.plugins import load
from gristmill.sources._sampling import Allowance, sampled, shared_out
from gristmill.sources.base import Source
from gristmill.sources.files import Files
from gristmill.stages.ingest import fetch, plan
from gristmill.types import DOCUMENT_SCHEMA, ShardRef


def documents(count: int, first: int = 0) -> pa.RecordBatch:
    rows = [{"id": f"d{n}", "text": f"text {n}", "source": "s"} for n in range(first, first + count)]
    return pa.RecordBatch.from_pylist(rows, schema=DOCUMENT_SCHEMA)


def refs(count: int) -> list[ShardRef]:
    return [ShardRef(index=n, source="s", uri=f"{n}.jsonl", size=9, identity="") for n in range(count)]


def corpus(folder: Path, files: int, each: int) -> Path:
    folder.mkdir()
    for number in range(files):
        lines = [json.dumps({"text": f"file {number} row {row} \u00e9"}) for row in range(each)]
        (folder / f"{number:03d}.jsonl").write_text("".join(line + "\n" for line in lines))
    return folder


def taken(source: Source) -> Read:
    return Read(chunk for shard in source.planned() for chunk in source.documents(shard))


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.5, 0.999])
def test_a_sample_has_the_share_that_was_asked_for(rate: float):
    count = 20_000
    kept = len(sampled(documents(count), rate, 7))
    assert abs(kept - count * rate) < 5 * math.sqrt(count * rate * (1 - rate)) + 1


@given(cut=st.integers(0, 300), offset=st.integers(0, 50))
def test_a_document_is_chosen_whatever_batch_it_comes_in(cut: int, offset: int):
    """A sample that depended on batches would change with the compression or the store of the file."""
    whole = documents(300)
    parts = [whole.slice(0, cut), whole.slice(cut)]
    assert pa.Table.from_batches([sampled(part, 0.3, 1) for part in parts]) == pa.Table.from_batches(
        [sampled(whole, 0.3, 1)]
    )
    alone = sampled(documents(300 - offset, offset), 0.3, 1).column("id").to_pylist()
    assert alone == [name for name in sampled(whole, 0.3, 1).column("id").to_pylist() if int(name[1:]) >= offset]


def test_a_larger_rate_holds_the_smaller_sample_and_another_seed_another():
    """Growing a sample must not throw away what was cleaned before."""
    small, large, other = (
        set(sampled(documents(999), *how).column("id").to_pylist()) for how in ((0.1, 1), (0.4, 1), (0.1, 2))
    )
    assert small < large
    assert small != other
    assert sampled(documents(999), 1.0, 1) == sampled(documents(999), None, 1) == documents(999)


def test_equal_texts_under_different_ids_are_chosen_apart():
    """A text that occurs a thousand times would be kept a thousand times or never."""
    rows = [{"id": str(n), "text": "same", "source": "s"} for n in range(1000)]
    assert 400 < len(sampled(pa.RecordBatch.from_pylist(rows, schema=DOCUMENT_SCHEMA), 0.5, 0)) < 600


def test_equal_ids_with_different_texts_are_chosen_apart():
    """Ids such as a file's name and line repeat from folder to folder."""
    rows = [{"id": "same", "text": str(n), "source": "s"} for n in range(1000)]
    assert 400 < len(sampled(pa.RecordBatch.from_pylist(rows, schema=DOCUMENT_SCHEMA), 0.5, 0)) < 600


@given(
    count=st.integers(1, 40),
    limit=st.one_of(st.none(), st.integers(1, 200)),
    nbytes=st.one_of(st.none(), st.integers(1, 50 << 20)),
)
def test_shares_add_up_and_no_shard_is_read_in_vain(count: int, limit: int | None, nbytes: int | None):
    shares = shared_out(refs(count), documents=limit, nbytes=nbytes)
    assert [share.index for share in shares] == list(range(len(shares)))
    assert len({share.uri for share in shares}) == len(shares) <= count
    if limit is None and nbytes is None:
        assert shares == refs(count)
        return
    for name, total in (("documents", limit), ("bytes", nbytes)):
        if total is not None:
            parts = [(share.take or {})[name] for share in shares]
            assert sum(parts) == total
            assert min(parts) >= 1
            assert max(parts) - min(parts) <= 1


def test_shares_are_spread_over_the_source():
    """The head of a corpus sorted by date or site is no rehearsal of the rest; the last shard may be the validation."""
    shares = shared_out(refs(1000), documents=4, nbytes=None)
    assert [share.uri for share in shares] == ["0.jsonl", "333.jsonl", "666.jsonl", "999.jsonl"]
    assert [share.uri for share in shared_out(refs(9), documents=1, nbytes=None)] == ["0.jsonl"]


@given(sizes=st.lists(st.integers(0, 9), max_size=30), limit=st.integers(1, 60), cut=st.integers(0, 30))
def test_bytes_are_a_ceiling_whatever_the_batches(sizes: list[int], limit: int, cut: int):
    texts = ["x" * size for size in sizes]
    batch = pa.RecordBatch.from_pylist([{"id": "", "text": t, "source": ""} for t in texts], schema=DOCUMENT_SCHEMA)
    allowance, found = Allowance({"bytes": limit}), []
    for part in (batch.slice(0, cut), batch.slice(cut)):
        if not allowance.spent:
            found += allowance.cut(part).column("text").to_pylist()
    total = sum(map(len, found))
    assert found == texts[: len(found)]
    assert total <= limit
    assert len(found) == len(texts) or total == limit or total + len(texts[len(found)]) > limit


def test_a_limit_takes_so_many_documents_from_everywhere(tmp_path: Path):
    source = Files(paths=[str(corpus(tmp_path / "in", 5, 10))], limit_documents=7)
    found = taken(source)
    assert found.texts == [
        f"file {n} row {row} \u00e9" for n, rows in enumerate((1, 1, 2, 1, 2)) for row in range(rows)
    ]
    assert sum(chunk.skipped for chunk in found.chunks) == 50 - 7


def test_a_limit_leaves_the_rest_of_a_large_shard_unread(tmp_path: Path):
    """A rehearsal on ten documents must not read a terabyte."""
    (tmp_path / "big.jsonl").write_text(f'{{"text": "{"x" * 1000}"}}\n' * 50_000)
    found = taken(Files(paths=[str(tmp_path)], limit_bytes=5000))
    assert len(found.texts) == 5
    assert len(found.chunks) == 1
    assert found.chunks[0].skipped < 10_000


@pytest.mark.parametrize(
    "settings",
    [{"sample_rate": 0}, {"sample_rate": 1.1}, {"sample_seed": -1}, {"limit_documents": 0}, {"limit_bytes": 0}],
)
def test_a_sample_of_nothing_is_refused(settings: dict[str, Any]):
    with pytest.raises(ConfigError, match=f"files: {next(iter(settings))}: "):
        load("sources", {"kind": "files", "paths": ["x"], **settings})


def test_a_run_accounts_for_every_document_left_out(tmp_path: Path):
    """Documents that vanish from the counts cannot be told from lost ones."""
    corpus(tmp_path / "in", 4, 50)
    (tmp_path / "in" / "000.jsonl").open("a").write('{"text": 5}\n')
    source = {"kind": "files", "name": "web", "paths": [str(tmp_path / "in")], "sample_rate": 0.4}
    config = request(tmp_path, sources=[source], max_quarantined_share=0.1)
    manifest = pipeline.prepare(config)
    kept = manifest.totals["documents"]
    assert 50 < kept < 110
    assert manifest.dropped == {"not_sampled": 200 - kept}
    assert manifest.totals["input_documents"] == 201
    assert sum(shard.dropped["not_sampled"] for shard in manifest.source_shards) == 200 - kept
    fetched = [report for report in reports(config) if report.stage == "fetch"]
    assert sum(report.docs_out for report in fetched) == kept
    assert published(config) == taken(config.sources[0]).texts


def test_another_limit_redoes_only_what_it_changes(tmp_path: Path):
    """And a sample of another seed everything: what was fetched before must not stand for it."""
    folder = str(corpus(tmp_path / "in", 4, 5))

    def inputs(**settings: Any) -> list[bytes]:
        config = request(tmp_path, sources=[{"kind": "files", "name": "web", "paths": [folder], **settings}])
        return [msgspec.json.encode(fetch.inputs(shard, config)) for shard in plan.plan(config).shards]

    plain = inputs()
    assert not {*plain} & {*inputs(sample_rate=0.5)}
    assert not {*inputs(sample_rate=0.5, sample_seed=1)} & {*inputs(sample_rate=0.5)}
    assert not {*plain} & {*inputs(limit_documents=4)}
    assert len({*inputs(limit_documents=6)} & {*inputs(limit_documents=7)}) == 3
