"""The page that people open: what it shows, and that nothing from data becomes part of its markup."""

import base64
import hashlib
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifests import loss, manifest, mixture, rule_record, source_shard, token_file
from msgspec.structs import replace
from page_parts import Parsed, figures

from gristmill.reporting.histograms import histogram
from gristmill.reporting.page import MOST_BARS, MOST_ROWS, page
from gristmill.types import Manifest, PassedOver

BIDI = "\u202eevil\u2066"
HOSTILE = f"</td><script>alert(1)</script><img src=x onerror=alert(2)>\"'{BIDI}\x00"
MEASURED = histogram("too_short", np.arange(9), np.ones(9), least=5, most=None)
ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "a", "header", "h1", "p", "dl", "div", "dt", "dd", "bdi", "code",
    "nav", "ul", "li", "main", "section", "h2", "figure", "svg", "g", "rect", "line", "text", "table", "thead", "tr",
    "th", "tbody", "td", "footer",
}  # fmt: skip


def made(found: Manifest | None = None, **changes: Any) -> bytes:
    return page(found or manifest(), figures(**changes), [], [])


def hostile(text: str) -> bytes:
    """The page of a data set in which every text from outside is ``text``."""
    found = manifest(
        dropped={text: 1},
        quarantined={f"{text}q": 1},
        sources={text: mixture().sources["web"]},
        rules=[rule_record(source=text, rule=text, dropped={text: 1})],
        losses=[loss(source=text, rule=text, reason=text)],
        files=[token_file(path=f"nanogpt/{text}")],
        source_shards=[source_shard(source=text, uri=text, error=text, link=text, dropped={text: 1})],
        passed_over=[PassedOver(source=text, reason=text, suffix=text, files=1, examples=[text])],
    )
    measured = replace(MEASURED, source=text, rule=text, reason=text)
    rejected: list[dict[str, object]] = [{"rule": text, "reason": text, "document": text, "text begins": text}]
    return page(
        found,
        figures(scripts={text: 3}, measured=[measured]),
        rejected,
        [{"reason": text, "input": text, "shows": text}],
    )


def test_the_figures_are_those_of_the_manifest() -> None:
    parsed = Parsed(made())
    words = " ".join(" ".join(parsed.texts).split())
    for part in ("5 documents read, 3 published", "too_short 1", "nanogpt/train.bin", "1,234,567", "json_syntax"):
        assert part in words
    assert [level for level, _ in parsed.headings].count("h1") == 1
    assert ("h2", "Length of documents") in parsed.headings


def test_markup_is_well_formed_and_accessible() -> None:
    parsed = Parsed(made())
    assert (parsed.open, parsed.crossed) == ([], [])
    assert parsed.named("html") == [{"lang": "en"}]
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in parsed.named("svg"))
    assert len(parsed.named("svg")) == 9
    assert all(cell["scope"] in ("col", "row") for cell in parsed.named("th"))
    anchors = {str(link["href"])[1:] for link in parsed.named("a")}
    assert anchors == {str(attributes["id"]) for _, attributes in parsed.tags if "id" in attributes}


def test_nothing_is_loaded_and_nothing_runs() -> None:
    """A report opened from a mail must not call home, whatever stands in it."""
    data = made()
    parsed = Parsed(data)
    assert {tag for tag, _ in parsed.tags} <= ALLOWED
    assert not any(name in attributes for _, attributes in parsed.tags for name in ("src", "style", "onclick"))
    policy = next(meta["content"] for meta in parsed.named("meta") if "http-equiv" in meta)
    (style,) = re.findall(r"<style>(.*?)</style>", data.decode(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.parametrize("text", [HOSTILE, "{{ 7 * 7 }}{% raw %}", "<!--", "]]><style>*{}</style>"])
def test_hostile_names_stay_text(text: str) -> None:
    parsed = Parsed(hostile(text))
    harmless = Parsed(hostile("p" * len(text)))
    assert [tag for tag, _ in parsed.tags] == [tag for tag, _ in harmless.tags]
    assert [set(attributes) for _, attributes in parsed.tags] == [set(attributes) for _, attributes in harmless.tags]
    assert not set(BIDI + "\x00") & set("".join(parsed.texts)) - set("evil")


@given(st.text(min_size=1, max_size=40))
@settings(max_examples=25, deadline=None)
def test_any_text_leaves_the_markup_as_it_is(text: str) -> None:
    parsed = Parsed(hostile(text))
    assert (parsed.open, parsed.crossed) == ([], [])
    assert {tag for tag, _ in parsed.tags} <= ALLOWED


def test_the_same_data_gives_the_same_bytes() -> None:
    assert made() == made()


def test_ten_thousand_shards_stay_readable() -> None:
    """A page of 10,000 rows and bars takes the browser down; what is hidden is said to be."""
    shards = [source_shard(index=number, uri=f"part-{number:05d}.jsonl") for number in range(10_000)]
    files = [token_file(path=f"nanogpt/train-{number:05d}.bin") for number in range(10_000)]
    data = made(manifest(source_shards=shards, files=files))
    assert len(data) < 200_000
    assert data.count(b".jsonl</bdi>") == MOST_ROWS
    assert data.decode().count("9,950 more are in manifest.json.") == 2
    chart = max(re.findall(r"<svg.*?</svg>", data.decode(), re.DOTALL), key=lambda svg: svg.count(".bin"))
    assert chart.count(".bin") == MOST_BARS


def test_empty_steps_of_a_histogram_are_shown() -> None:
    """Two columns side by side would look like neighbours where nothing is between them."""
    words = " ".join(" ".join(Parsed(made(lengths={1: 2, 8: 3, 2048: 1})).texts).split())
    assert "1 2 2-3 0 4-7 0 8-15 3 16-31 0" in words
    assert "1k-2k 0 2k-4k 1" in words


def test_languages_have_shares_of_documents_and_characters() -> None:
    """One long book in another language is few documents and most of the text."""
    parsed = Parsed(made())
    words = " ".join(" ".join(parsed.texts).split())
    assert ("h2", "Languages") in parsed.headings
    assert "A sample of 4 cleaned documents, chosen by a keyed hash" in words
    assert "en 3 75.00% 200 40.00% de 1 25.00% 300 60.00%" in words


def test_what_packing_wastes_is_shown_by_format() -> None:
    """A crop of a third of all ids looks like nothing in a table of published tokens."""
    words = " ".join(" ".join(Parsed(made()).texts).split())
    assert "nanogpt ids in its files 90 100.00% nanogpt ids left out 0 0.00%" in words
    assert "parquet_rows ids in its files 60 66.67% parquet_rows ids cropped 20 22.22%" in words
    assert "parquet_rows ids left out 10 11.11% parquet_rows padding 40 40.00%" in words
    assert "parquet_rows documents whole 2 66.67%" in words
    charts = [str(chart["aria-label"]) for chart in Parsed(made()).named("svg")]
    assert "Chart: Ids lost to packing, and padding. The table after it has the values." in charts
    nothing = {"nanogpt": {"ids": 90, "placed": 90, "left": 0}}
    assert not any("lost to packing" in str(chart) for chart in Parsed(made(packing=nothing)).named("svg"))


def test_sources_are_held_against_the_mix() -> None:
    parsed = Parsed(made(mixture()))
    assert ("h2", "Mixture") in parsed.headings
    words = " ".join(" ".join(parsed.texts).split())
    assert "33.33% 50.00% 89.98% 9,000 90.00% -0.222% 4 450" in words  # web: documents, characters, tokens, target
    assert "Repetitions, which the totals do not count: 4 documents, 450 tokens." in words
    assert "Mixture" not in " ".join(Parsed(made()).texts)


def test_a_data_set_without_losses_or_copies_has_a_page() -> None:
    found = manifest(dropped={}, quarantined={}, rules=[], losses=[], files=[], source_shards=[], sources={})
    data = page(found, figures(lengths={}, clusters={}, scripts={}, sampled=0), [], [])
    assert "Every document was published, and no rule took anything out." in data.decode()
    assert Parsed(data).crossed == []
