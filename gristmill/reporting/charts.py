"""Charts as SVG elements for an HTML page: no script, no style of their own, the same bytes for the same values.

Drawn by leather (MIT, pure Python), which measures text by its length and not by a font, so that every machine draws
the same. Colours come from the page's style sheet, by the classes that leather gives: ``bars``, ``columns``, ``tick``.
"""

import math
import xml.etree.ElementTree as ElementTree
from typing import Any

import leather

WIDTH = 720
BAR = 26
"""Height of a bar and the gap below it, in the units of the drawing."""

COLUMN_HEIGHT = 300
COLUMNS_WIDTH = WIDTH - 120
"""What the axis of values and the margins leave to the columns, at the least."""
LONGEST_LABEL = 28

Values = list[tuple[str, float]]
"""Labels and values, in the order in which they are shown."""


def bars(values: Values, title: str, unit: str) -> str:
    """Horizontal bars, the first on top; ``unit`` names the axis of values. Labels are cut to 28 characters."""
    chart = leather.Chart()
    chart.add_bars([(value, label) for label, value in _labelled(values)])
    chart.add_x_scale(0, max(value for _, value in values) or 1)
    chart.add_x_axis(name=unit, tick_formatter=_short)
    return _element(chart, title, 2 * WIDTH // 20 + BAR * len(values) + 60)


def columns(values: Values, title: str, name: str, unit: str, shown: int = 0) -> str:
    """Columns from left to right; ``name`` names the axis of labels, ``unit`` that of values. Where labels are too wide
    to stand side by side, each second, third and so on is shown, that at the place ``shown`` among them."""
    chart = leather.Chart()
    labelled = _labelled(values)
    chart.add_columns(labelled)
    chart.add_y_scale(0, max(value for _, value in values) or 1)
    labels = [label for label, _ in labelled]
    room = COLUMNS_WIDTH / len(labels) / leather.theme.tick_font_char_width
    step = math.ceil((max(map(len, labels)) + 1) / room)
    chart.add_x_axis(ticks=labels[shown % step :: step], name=name)
    chart.add_y_axis(name=unit, tick_formatter=_short)
    return _element(chart, title, COLUMN_HEIGHT)


def _labelled(values: Values) -> Values:
    """Labels short and all different: leather draws equal ones in one place."""
    found: dict[str, float] = {}
    for label, value in values:
        short = label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 3]}..."
        while short in found:
            short += "'"
        found[short] = value
    return list(found.items())


def _short(value: Any, _index: int, _count: int) -> str:
    """``1,200``, ``3.4M``: as much as fits at a tick."""
    number = float(value)
    for size, mark in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (1e3 if mark == 'k' else size):g}{mark}"
    return f"{number:,g}"


def _element(chart: Any, title: str, height: int) -> str:
    """An ``svg`` element that fits any width and is one picture to a screen reader."""
    label = f"Chart: {title}. The table after it has the values."
    root = ElementTree.Element("svg", {"viewBox": f"0 0 {WIDTH} {height}", "role": "img", "aria-label": label})
    root.append(chart.to_svg_group(WIDTH, height))
    return ElementTree.tostring(root, encoding="unicode")
