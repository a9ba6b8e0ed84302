"""Charts: the values that were given, harmless labels, the same bytes every time."""

import itertools
import xml.etree.ElementTree as ElementTree

import leather
import pytest

from gristmill.reporting.charts import bars, columns

TICK_CHARACTER = leather.theme.tick_font_char_width
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"><script>alert(1)</script>'


def parsed(chart: str) -> ElementTree.Element:
    return ElementTree.fromstring(chart)


def texts(chart: str) -> list[str]:
    return [element.text or "" for element in parsed(chart).iter() if element.tag.endswith("text")]


def widths(chart: str) -> list[float]:
    groups = [group for group in parsed(chart).iter() if group.get("class") == "series bars"]
    return [float(rect.get("width", "")) for group in groups for rect in group]


def test_bars_are_as_long_as_their_values() -> None:
    chart = bars([("web", 300.0), ("books", 100.0), ("none", 0.0)], "Tokens", "tokens")
    shortest, middle, longest = sorted(widths(chart))
    assert shortest == 0
    assert longest == pytest.approx(3 * middle)
    assert {"web", "books", "none", "tokens"} <= set(texts(chart))


def test_the_same_values_give_the_same_bytes() -> None:
    """The page is sealed: a drawing with a random id or a date would make every rerun another data set."""
    values = [(f"label {number}", number / 7) for number in range(9)]
    assert columns(values, "a", "b", "c") == columns(values, "a", "b", "c")
    assert bars(values, "a", "b") == bars(values, "a", "b")


def test_labels_from_data_stay_text() -> None:
    chart = bars([(HOSTILE, 1.0)], f"Title {HOSTILE}", "documents")
    assert "<script" not in chart
    assert not [element for element in parsed(chart).iter() if element.tag.endswith("script")]
    assert any(label.startswith('"><script>') for label in texts(chart))


def test_labels_that_are_equal_when_cut_keep_bars_of_their_own() -> None:
    """Two long paths would be drawn on top of each other, and one of them would not be seen."""
    long = "part of a very long name of a file "
    chart = bars([(f"{long}{number}", 10.0 + number) for number in range(3)], "Files", "tokens")
    assert len(set(widths(chart))) == 3


@pytest.mark.parametrize("count", [1, 4, 12, 24, 40])
def test_labels_of_columns_do_not_run_into_each_other(count: int) -> None:
    """Twenty lengths of documents were printed over each other, and none could be read."""
    chart = parsed(columns([(f"{1 << n}k-{2 << n}k"[-14:] + str(n), n) for n in range(count)], "a", "ids", "documents"))
    axis = next(group for group in chart.iter() if group.get("class") == "axis bottom")
    labels = [text for text in axis.iter() if text.get("text-anchor") == "middle" and text.text != "ids"]
    half = {text.text: len(text.text or "") * TICK_CHARACTER / 2 for text in labels}
    places = [(float(text.get("x", "")), half[text.text]) for text in labels]
    assert labels
    assert all(x + own < after - its for (x, own), (after, its) in itertools.pairwise(places))


@pytest.mark.parametrize(("value", "end"), [(7, "7.5"), (1_234_567, "1.5M"), (11_000, "15k"), (0, "1")])
def test_the_scale_goes_to_a_round_number(value: float, end: str) -> None:
    assert end in texts(bars([("a", value)], "a", "b"))


def test_a_reader_that_sees_nothing_is_told_what_it_is() -> None:
    root = parsed(columns([("1", 2.0)], "Documents by length", "ids", "count"))
    assert (root.get("role"), root.get("aria-label")) == (
        "img",
        "Chart: Documents by length. The table after it has the values.",
    )
