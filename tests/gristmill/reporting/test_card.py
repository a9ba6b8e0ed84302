"""The data card: a header that the hub reads, counts from the manifest, nothing from data as markup."""

from typing import Any

import pytest
import yaml
from manifests import manifest, source_shard, token_file

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
