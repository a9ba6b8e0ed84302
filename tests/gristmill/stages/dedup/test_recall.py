"""New data against published data sets: what was there before never comes again."""

from pathlib import Path
from typing import Any

import pytest
from copied import EXACT, MINHASH, changed, kept_for, ledger, page, web, write_ids
from corpora import documents_of, published, request

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError
from gristmill.formats import base
from gristmill.stages.dedup import recall as recalling
from gristmill.stages.dedup.recall import decode_published, earlier_files, recalled_text
from gristmill.stages.ingest._arrow import batches
from gristmill.types import Manifest

ODD = ["", "\n", "\u4e2d\u6587 caf\u00e9\n", "<|endoftext|>", "x" * 5000]


def run(folder: Path, texts: dict[str, str], **settings: Any) -> tuple[PrepareConfig, Manifest]:
    write_ids(folder / "in" / "a.jsonl", texts)
    config = request(folder, **{"sources": web(folder), "dedup": [EXACT, MINHASH], **settings})
    return config, pipeline.prepare(config)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> PrepareConfig:
    """Thirty pages in two splits, shuffled, and the beginnings that documents of this shape have."""
    texts = {f"old{n}": page(n) for n in range(30)} | {f"odd{n}": f"start {n} {text}" for n, text in enumerate(ODD)}
    config, _ = run(tmp_path_factory.mktemp("old"), texts, split={"fraction": 0.3}, ordering={"kind": "hashed"})
    return config


def test_documents_of_an_earlier_data_set_never_come_again(tmp_path: Path, old: PrepareConfig) -> None:
    """Equal or nearly equal, in train or validation: a second epoch of old data in the new, or validation in train."""
    new = {f"equal{n}": f" {page(n)}\n" for n in range(0, 30, 3)} | {f"near{n}": changed(page(n), 0) for n in (1, 4, 7)}
    fresh = {f"fresh{n}": page(100 + n) for n in range(4)} | {"again": changed(page(100), 0)}
    config, manifest = run(tmp_path, {**new, **fresh}, against=[old.destination])
    assert published(config) == [page(100 + n) for n in range(4)]
    assert manifest.dropped == {"duplicate_exact": 10, "duplicate_minhash": 4}
    named = kept_for(config)
    assert named.pop("again") == "fresh0"
    assert set(named) == set(new)
    for name, kept in named.items():
        text = recalled_text(kept, config.against)
        assert text == page(int(name.removeprefix("equal").removeprefix("near")))
        path, _, place = kept.rpartition("#")
        assert path.startswith(f"{old.destination}/nanogpt/")
        assert documents_of(Path(path))[int(place)] == text
    assert [row["kept_shard"] for row in ledger(config) if row["id"] != "again"] == [None] * 13


def test_earlier_documents_win_over_any_priority_and_content(tmp_path: Path, old: PrepareConfig) -> None:
    """They are published: nothing about the new data can take them back."""
    source = web(tmp_path, priority=2**31)
    config, manifest = run(
        tmp_path, {"a": changed(page(1), 0), "b": "new"}, against=[old.destination], sources=source, keep_copy="content"
    )
    assert published(config) == ["new"]
    assert manifest.dropped == {"duplicate_minhash": 1}


def test_copies_within_earlier_data_are_not_counted_here(tmp_path: Path) -> None:
    """Two old data sets may share documents; the accounts of the new one are about its own input."""
    first, _ = run(tmp_path / "first", {"a": "one text", "b": page(1)})
    second, _ = run(tmp_path / "second", {"a": "one  text", "b": page(2), "c": changed(page(1), 119)})
    both = [first.destination, second.destination]
    config, manifest = run(tmp_path / "new", {"x": "one text", "y": changed(page(1), 0, 119), "z": "new"}, against=both)
    assert published(config) == ["new"]
    assert set(kept_for(config)) == {"x", "y"}
    assert all(kept.startswith(f"{first.destination}/") for kept in kept_for(config).values())
    assert sum(manifest.dropped.values()) == 2


def test_parts_are_compared_within_the_new_data_alone(tmp_path: Path, old: PrepareConfig) -> None:
    """Earlier data is held against whole documents; a run that also looks for parts once ended with an error."""
    notice = "a paragraph of the new data"
    texts = {"x": page(1), "y": f"{page(2, 60)}\n\n{notice}", "z": f"{page(50)}\n\n{notice}"}
    kinds = [MINHASH, {"kind": "paragraph", "min_bytes": 20}]
    config, manifest = run(tmp_path, texts, against=[old.destination], dedup=kinds)
    assert manifest.dropped == {"duplicate_minhash": 1}
    assert published(config) == [texts["y"], page(50)]


def test_earlier_documents_are_not_screened(tmp_path: Path) -> None:
    """An old document with an evaluation text in it stays a document that was there before."""
    question = " ".join(f"q{number}" for number in range(13))
    old, _ = run(tmp_path / "old", {"a": f"{page(1)} {question}"})
    (tmp_path / "questions.txt").write_text(question)
    screen = {"kind": "decontaminate", "paths": [str(tmp_path / "questions.txt")]}
    kinds = [MINHASH, screen]
    config, _ = run(tmp_path / "new", {"x": page(1) + " end", "y": "new"}, against=[old.destination], dedup=kinds)
    assert kept_for(config) == {"x": f"{old.destination}/nanogpt/train.bin#0"}
    assert published(config) == ["new"]


@pytest.mark.parametrize("documents", [1, 7])
def test_every_document_comes_back_as_it_was(
    tmp_path: Path, old: PrepareConfig, monkeypatch: pytest.MonkeyPatch, documents: int
) -> None:
    """A document that is decoded wrongly repeats nothing; line feeds, other scripts and special words included."""
    monkeypatch.setattr(recalling, "BATCH_DOCUMENTS", documents)
    monkeypatch.setattr(base, "BLOCK_BYTES", 2 * 777)
    config = request(tmp_path, against=[old.destination])
    found, names = [], []
    for number, (output, path) in enumerate(earlier_files(config)):
        for batch in batches(decode_published(output, path, number, config).artifacts["documents"]):
            found += batch.column("text").to_pylist()
            names += batch.column("id").to_pylist()
    assert found == published(old)
    assert len(found) == 35
    assert [recalled_text(name, config.against) for name in names] == found


def test_a_document_that_is_not_there_is_named(tmp_path: Path, old: PrepareConfig) -> None:
    config = request(tmp_path, against=[old.destination])
    for name in (f"{old.destination}/nanogpt/train.bin#999", "elsewhere/train.bin#0"):
        with pytest.raises(InputError, match=f"{name}: no such document in "):
            recalled_text(name, config.against)


def test_an_earlier_data_set_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A misspelt folder must not mean that nothing was there before."""
    with pytest.raises(ConfigError, match=r"against: .*absent: no manifest\.json there"):
        request(tmp_path, against=[str(tmp_path / "absent")]).check_rules()


def test_another_earlier_data_set_is_another_configuration(tmp_path: Path, old: PrepareConfig) -> None:
    """Its content decides, not its name: the same folder with other data must not pass for done."""
    plain, against = request(tmp_path), request(tmp_path, against=[old.destination])
    assert against.fingerprint() != plain.fingerprint()
    (tmp_path / "link").symlink_to(old.destination)
    assert request(tmp_path, against=[str(tmp_path / "link")]).fingerprint() == against.fingerprint()
