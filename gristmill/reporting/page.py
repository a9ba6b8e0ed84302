"""The report as one HTML page that needs nothing beside it: no network, no script, no file.

Made from the manifest, the figures and samples alone, so that the same data gives the same bytes: how long the stages
took differs between runs and is not in it. Every value passes ``_safe`` and the template's escaping, whatever it holds.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import jinja2
import msgspec
from markupsafe import Markup

from gristmill.reporting import charts, losses, thresholds
from gristmill.reporting.figures import (
    STEPS,
    Figures,
    doubling_rows,
    language_rows,
    packing_rows,
    script_rows,
)
from gristmill.reporting.health import judged_rows, undivided
from gristmill.reporting.tables import (
    SPARED,
    Row,
    input_rows,
    mix_rows,
    passed_over_rows,
    printable,
    published_rows,
    repetitions,
    source_rows,
)
from gristmill.types import Manifest

MOST_ROWS = 50
MOST_BARS = 20
"""Rows shown per table and bars per chart, so that a page of 10,000 shards stays readable; the manifest has all."""

LONGEST_TEXT = 1000
TEMPLATES = Path(__file__).parent / "templates"


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the page: what is said, a chart, the rows behind it, and what is left out of them."""

    anchor: str
    title: str
    text: str = ""
    chart: str = ""
    rows: Sequence[Row] = ()
    hidden: int = 0
    rest: str = "manifest.json"

    @property
    def numeric(self) -> set[str]:
        """Columns of numbers."""
        return {name for row in self.rows for name, value in row.items() if isinstance(value, int)}


Rows = Sequence[Row]


def page(manifest: Manifest, figures: Figures, rejected: Rows, quarantined: Rows, near: Rows = ()) -> bytes:
    """The page of a whole data set, with samples of what was dropped, set aside, and dropped as near copies."""
    style = (TEMPLATES / "page.css").read_text("utf-8")
    rendered = (
        _environment()
        .get_template("page.html")
        .render(
            manifest=manifest,
            sections=_sections(manifest, figures, rejected, quarantined, near),
            style=Markup(style),  # a file of our own
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            generation=len(manifest.generations),
        )
    )
    return rendered.encode()


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        autoescape=True,
        finalize=_safe,
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def _safe(value: object) -> object:
    """What the template puts in a page: numbers with separators, text without control and bidirectional characters."""
    if isinstance(value, str) and not isinstance(value, Markup):
        text = printable(value, SPARED)
        return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ..."
    return f"{value:,}" if isinstance(value, int) else value


def _sections(manifest: Manifest, figures: Figures, rejected: Rows, quarantined: Rows, near: Rows) -> list[Section]:
    found = [
        _funnel(manifest, figures),
        _sources(manifest),
        _mixture(manifest),
        _losses(manifest),
        _cut("samples", "Samples of what was dropped", rejected, "report/rejected/"),
        Section(
            anchor="rules",
            title="What every rule did",
            text="Tokens lost are estimated from the characters removed.",
            rows=judged_rows(manifest),
        ),
        _thresholds(figures),
        _lengths(figures),
        _clusters(manifest, figures),
        _cut("near-copies", "Near copies least like what stays", near, "report/duplicates/"),
        _languages(figures),
        _scripts(figures),
        _packing(figures),
        _files(manifest),
        _cut("inputs", "Input shards", input_rows(manifest), "manifest.json"),
        _cut("passed-over", "Files passed over", passed_over_rows(manifest.passed_over), "manifest.json"),
        _cut("quarantine", "Quarantine", quarantined, "report/quarantine/"),
        _generations(manifest),
    ]
    return [section for section in found if section.rows or section.text]


def _cut(anchor: str, title: str, rows: Rows, rest: str, text: str = "", chart: str = "") -> Section:
    """A section of which the first rows are shown; ``rest`` has all."""
    hidden = max(0, len(rows) - MOST_ROWS)
    return Section(anchor=anchor, title=title, text=text, chart=chart, rows=rows[:MOST_ROWS], hidden=hidden, rest=rest)


def _bars(rows: Sequence[Row], label: str, value: str, title: str) -> str:
    """A chart of two columns of a table, the largest values first; empty where there is nothing to compare."""
    numbers = [(printable(str(row[label])), float(str(row[value]))) for row in rows]
    highest = sorted(numbers, key=lambda pair: -pair[1])[:MOST_BARS]
    return charts.bars(highest, title, value) if highest and highest[0][1] > 0 else ""


def _funnel(manifest: Manifest, figures: Figures) -> Section:
    rows: list[Row] = [
        {
            "step": step,
            "documents": figures.documents[step],
            "of all read": f"{figures.documents[step] / max(1, figures.documents['read']):.1%}",
            "characters": figures.characters.get(step, ""),
            "tokens": manifest.totals["tokens"] if step == "published" else "",
        }
        for step in STEPS
    ]
    return Section(
        anchor="funnel",
        title="From raw to published",
        text="Usable: not quarantined and not left out by a sample rate. What cannot be used has no characters to "
        "count, and only published documents have tokens. End-of-text is not counted.",
        chart=charts.bars([(str(row["step"]), float(str(row["documents"]))) for row in rows], "Documents", "documents")
        if figures.documents["read"]
        else "",
        rows=rows,
    )


def _sources(manifest: Manifest) -> Section:
    rows = source_rows(manifest)
    return Section(
        anchor="sources",
        title="Tokens by source",
        text=" ".join(f"Warning: {printable(line)}." for line in undivided(manifest)),
        chart=_bars(rows, "source", "tokens", "Tokens by source"),
        rows=rows,
    )


def _mixture(manifest: Manifest) -> Section:
    rows = mix_rows(manifest)
    return Section(
        anchor="mixture",
        title="Mixture",
        text=repetitions(manifest),
        chart=_bars(rows, "source", "tokens", "Tokens of the mixture by source"),
        rows=rows,
    )


def _losses(manifest: Manifest) -> Section:
    rows = losses.loss_rows(manifest)
    text = losses.EXPLAINED if rows else "Every document was published, and no rule took anything out."
    chart = _bars(losses.reasons(rows), "why", "tokens", "Tokens lost, estimated")
    return _cut("drops", "What was lost, by source and reason", rows, "report/ledger.json", text, chart)


def _thresholds(figures: Figures) -> Section:
    rows = thresholds.measured_rows(figures)
    text, chart = thresholds.EXPLAINED if rows else "", thresholds.histogram_charts(figures)
    title = "What filters measured, and other thresholds"
    return _cut("thresholds", title, rows, "report/thresholds.json", text, chart)


def _lengths(figures: Figures) -> Section:
    return Section(
        anchor="lengths",
        title="Length of documents",
        text="Published documents by their ids, end-of-text not counted.",
        chart=_columns(figures.lengths, "Documents by length", "ids"),
        rows=doubling_rows(figures.lengths, "ids", "documents"),
    )


def _clusters(manifest: Manifest, figures: Figures) -> Section:
    copies = sum(int(str(row["documents"])) for row in losses.copy_rows(manifest))
    return Section(
        anchor="duplicates",
        title="Groups of copies",
        text=f"{copies:,} documents were dropped as copies. A group is the document that stayed and its copies within "
        "a generation. report/duplicates/ names each copy and the document that it repeats.",
        chart=_columns(figures.clusters, "Groups by their documents", "documents in the group"),
        rows=doubling_rows(figures.clusters, "documents in the group", "groups"),
    )


def _columns(table: dict[int, int], title: str, name: str) -> str:
    values = [(str(row[name]), float(str(row["count"]))) for row in doubling_rows(table, name, "count")]
    return charts.columns(values, title, name, "count") if values else ""


def _languages(figures: Figures) -> Section:
    rows = language_rows(figures)
    return Section(
        anchor="languages",
        title="Languages",
        text=f"A sample of {figures.sampled:,} cleaned documents, chosen by a keyed hash, each judged by 1,000 "
        "characters from its middle. Codes of ISO 639; und: not sure, zxx: no language, such as numbers and markup."
        if rows
        else "",
        chart=_bars(rows, "language", "documents", "Sampled documents by language"),
        rows=rows[:MOST_ROWS],
        hidden=max(0, len(rows) - MOST_ROWS),
        rest="report/figures.json",
    )


def _packing(figures: Figures) -> Section:
    rows = packing_rows(figures)
    wasted: list[Row] = [
        {"what": f"{row['format']}: {row['what']}", "ids": row["count"]}
        for row in rows
        if row["what"] in ("ids cropped", "ids left out", "padding") and row["count"]
    ]
    return Section(
        anchor="packing",
        title="Packing",
        text="Cropped: ends of documents that found no room in a row. Left out: what fills no whole row or sample at "
        "the end of a file. Padding: places in rows without text."
        if rows
        else "",
        chart=_bars(wasted, "what", "ids", "Ids lost to packing, and padding"),
        rows=rows,
    )


def _scripts(figures: Figures) -> Section:
    rows = script_rows(figures)
    return Section(
        anchor="scripts",
        title="Scripts",
        text=f"Letters by Unicode script, in a sample of {figures.sampled:,} cleaned documents.",
        chart=_bars(rows, "script", "letters", "Letters by script"),
        rows=rows,
    )


def _files(manifest: Manifest) -> Section:
    rows = published_rows(manifest)
    return _cut("files", "Published files", rows, "manifest.json", chart=_bars(rows, "file", "tokens", "Ids by file"))


def _generations(manifest: Manifest) -> Section:
    rows: list[Row] = [
        {
            "generation": made.number,
            "input shards": made.shards,
            "documents": made.documents,
            "tokens": made.tokens,
            "input shards gone": len(made.removed),
            "made by": f"gristmill {made.code_version}",
        }
        for made in manifest.generations
    ]
    return Section(
        anchor="generations",
        title="Generations",
        rows=rows[-MOST_ROWS:],
        hidden=max(0, len(rows) - MOST_ROWS),
    )
