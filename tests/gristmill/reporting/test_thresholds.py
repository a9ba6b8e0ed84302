"""What filters measured, as people see it."""

import json

import numpy as np
from manifests import manifest
from msgspec.structs import replace
from page_parts import Parsed, figures

from gristmill.reporting.figures import decoded, encoded, total
from gristmill.reporting.histograms import histogram
from gristmill.reporting.page import page
from gristmill.reporting.thresholds import measured_rows, threshold_rows, thresholds

LENGTHS = np.full(100, 40)
SHORT = replace(
    histogram("too_short", np.arange(100) * 5, LENGTHS, least=200, most=None), source="web", number=2, rule="length"
)
ENDS = replace(
    histogram("few_line_ends", np.linspace(0, 1, 100), LENGTHS, least=0.12, most=None), source="web", rule="fineweb"
)
MADE = figures(measured=[SHORT, ENDS], encoded={"web": {"characters": 400, "tokens": 100}})


def test_a_row_says_what_other_thresholds_would_keep() -> None:
    first, second = measured_rows(MADE)
    assert (first["reason"], first["drops"], first["kept"]) == ("too_short", "below 200", 60)
    assert str(first["kept at other thresholds"]).startswith("100: 80, 160: 68, 180: 64, 190: 62, 210: 58, ")
    assert (second["reason"], second["documents measured"]) == ("few_line_ends", 100)


def test_every_threshold_is_published_with_its_tokens() -> None:
    rows = threshold_rows(MADE)
    assert json.loads(thresholds(MADE)) == rows
    half = next(row for row in rows if row["threshold"] == 100)
    assert (half["documents_kept"], half["characters_kept"], half["tokens_kept"]) == (80, 3200, 800)
    assert [row["threshold"] for row in rows if row["in_force"]] == [200, 0.12]


def test_generations_are_added_up_and_older_ones_have_none() -> None:
    """A data set that an earlier version began must not lose its page."""
    old = figures()
    both = total([decoded(encoded(old)), decoded(encoded(MADE)), MADE])
    assert [sum(found.documents) for found in both.measured] == [200, 200]
    assert both.encoded == {"web": {"characters": 800, "tokens": 200}}


def test_the_page_marks_the_threshold() -> None:
    """With each second label left out for want of room, the mark was left out too."""
    parsed = Parsed(page(manifest(), MADE, [], []))
    words = " ".join(" ".join(parsed.texts).split())
    assert "[200]" in words
    assert "[0.12]" in words
    assert "180: 64" in words


def test_bins_are_named_by_the_side_on_which_they_end() -> None:
    """A text without any hash stood as "below 0"."""
    hashes = histogram("many_hashes", np.array([0.0, 0.0, 0.1, 0.2, 7.0]), LENGTHS[:5], least=None, most=0.1)
    words = Parsed(page(manifest(), figures(measured=[hashes]), [], [])).texts
    assert "[0.1]" in words
    assert "0" in words
    assert not [word for word in words if word.startswith("<")]
