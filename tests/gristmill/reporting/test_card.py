"""The data card: a header that the hub reads, counts from the manifest, nothing from data as markup."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from corpora import request, small_corpus, write_documents
from manifests import manifest, source_shard, token_file

from gristmill import pipeline
from gristmill.plugins import fact, kinds
from gristmill.reporting.card import card, card_name, index_name, untouched


def header(data: bytes) -> dict[str, Any]:
    _, text, _ = data.decode().split("---\n", 2)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_the_header_is_what_the_hub_reads() -> None:
    """Without ``viewer: false`` the hub would show the tables of the report as the data."""
    assert header(card(manifest())) == {
        "pretty_name": "demo",
        "size_categories": ["n<1K"],
        "task_categories": ["text-generation"],
        "viewer": False,
    }


@pytest.mark.parametrize(
    ("documents", "name"),
    [(999, "n<1K"), (1000, "1K<n<10K"), (5_000_000, "1M<n<10M"), (2 * 10**12, "n>1T")],
)
def test_sizes_are_named_as_the_hub_names_them(documents: int, name: str) -> None:
    totals = manifest().totals | {"documents": documents}
    assert header(card(manifest(totals=totals)))["size_categories"] == [name]


def test_a_format_that_can_be_loaded_has_a_configuration() -> None:
    files = [
        token_file(path=f"rows/{name}.parquet", format="rows", split=split)
        for name, split in (("train-0", "train"), ("train-1", "train"), ("val", "val"))
    ]
    found = header(card(manifest(files=[token_file(), *files])))
    assert "viewer" not in found
    assert found["configs"] == [
        {
            "config_name": "rows",
            "data_files": [
                {"split": "train", "path": ["rows/train-0.parquet", "rows/train-1.parquet"]},
                {"split": "validation", "path": ["rows/val.parquet"]},
            ],
        }
    ]


def test_languages_are_told_where_every_source_is_filtered() -> None:
    rule = {"kind": "language", "languages": ["en", "de"]}
    some = {
        "cleaning": [rule],
        "sources": [{"cleaning": None}, {"cleaning": [{"kind": "language", "languages": ["fr"]}]}],
    }
    none = {"cleaning": [rule], "sources": [{"cleaning": None}, {"cleaning": []}]}
    split = manifest().config
    assert header(card(manifest(config=split | some)))["language"] == ["de", "en", "fr"]
    assert "language" not in header(card(manifest(config=split | none)))


def test_the_text_gives_the_counts_and_escapes_names() -> None:
    hostile = "a|b\n# <script>x</script>"
    text = card(
        manifest(sources={hostile: {"documents": 3, "tokens": 99}}, source_shards=[source_shard(uri=hostile)])
    ).decode()
    assert "3 documents, 99 tokens, 400 characters of text, of 5 documents read" in text
    assert "| nanogpt | train | 1 | 1,234 | 1,234,567 | 2,468 |" in text
    assert "<script>" not in text
    assert "`report/index.html`" in text


@pytest.mark.parametrize("kind", [kind for kind in kinds("formats") if fact("formats", kind, "read_as") == "ids"])
def test_the_code_in_a_published_card_runs(tmp_path: Path, kind: str) -> None:
    """It stood in every data set and failed with a TypeError: the first thing that a stranger tries."""
    write_documents(tmp_path / "in" / "a.jsonl", small_corpus(40))
    config = request(tmp_path, formats=[{"kind": kind}])
    pipeline.prepare(config)
    page = (tmp_path / "out" / "README.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace("FOLDER", config.destination), names)
    assert names["batch"].x.shape == names["batch"].y.shape == (12, 1024)


def test_a_format_that_no_reader_opens_has_no_code_in_the_card() -> None:
    """Code for the readers beside files that only litdata opens would fail as well."""
    assert b"```python" not in card(manifest(files=[token_file(path="litdata/train/chunk-0-0.bin", format="litdata")]))


def test_an_edited_card_is_told_from_one_that_is_not() -> None:
    """The next night must not overwrite the licence that somebody wrote into it."""
    data = card(manifest())
    assert untouched(data)
    assert not untouched(data.replace(b"viewer: false", b"viewer: false\nlicense: odc-by"))
    assert not untouched(b"# My own page\n")
    assert not untouched(data + b"More.\n")


def test_later_generations_have_pages_of_their_own() -> None:
    assert (card_name(1), card_name(2)) == ("report/card.md", "report/card-g00002.md")
    assert index_name(2) == "report/index-g00002.html"
