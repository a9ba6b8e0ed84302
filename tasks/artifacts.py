"""What people see of a run on the server: tables of bounded length, every text from data escaped."""

from pathlib import Path

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact

from gristmill.manifest import MANIFEST
from gristmill.reporting.board import Board
from gristmill.reporting.card import index_name
from gristmill.reporting.health import health_rows, warnings
from gristmill.reporting.losses import EXPLAINED, copy_rows, loss_rows
from gristmill.reporting.summary import summary
from gristmill.reporting.tables import (
    Row,
    escape,
    escaped,
    input_rows,
    markdown,
    mix_rows,
    repetitions,
    source_rows,
    transfer_rows,
)
from gristmill.storage import stores
from gristmill.types import Manifest, StageReport

MOST_ROWS = 1000
"""Rows of a table; above, the page takes seconds to open. The manifest and the files of the report have all."""

SUM_DIGITS = 12
"""Of a sha256 in the summary: a whole one runs over the column beside it. ``shard-report`` has all 64."""

MOST_FAILURES = 20
"""Failures that get an artifact of their own: whatever makes more shards fail is told by these."""


def record(manifest: Manifest, uploaded: list[StageReport], output: str, board: Board) -> None:
    """The artifacts of a finished run; ``output`` is the absolute URI of the data set. How long its stages took is in
    ``timing-report`` alone: no published file depends on it."""
    place = stores.at(output)
    where = place.where(MANIFEST)
    _table("shard-report", "Published files", transfer_rows(manifest, uploaded), where)
    _table("input-report", "What became of every input shard", _telling_first(input_rows(manifest)), where)
    _table("ledger-report", f"What was lost and why. {EXPLAINED}", loss_rows(manifest), where)
    _table("health-report", _health(manifest), health_rows(manifest), where)
    _table("source-report", "Tokens by source", source_rows(manifest), where)
    if mixture := mix_rows(manifest):
        _table("mix-report", repetitions(manifest), mixture, where)
    _table("timing-report", "What every stage took in this run", board.rows(), where)
    create_markdown_artifact(
        _duplicates(manifest, place.where("report/duplicates")),
        key="duplicates-report",
        description="Documents dropped as copies",
    )
    create_markdown_artifact(
        summary(manifest, SUM_DIGITS), key="corpus-report", description=f"Summary of {escape(where)}"
    )
    page = place.where(index_name(len(manifest.generations)))
    create_link_artifact(
        link=page if stores.is_remote(output) else Path(page).as_uri(),
        link_text="The report: one page, to be opened in a browser",
        key="report-page",
        description=f"{escape(page)}: figures and samples of the whole data set. A browser does not follow a link from "
        "this server to a file: copy it.",
    )


def record_rehearsal(page: str) -> None:
    """The verdict on a rehearsal, with the hours that no published file has."""
    create_markdown_artifact(page, key="rehearsal-report", description="What the whole corpus will give, and how well")


def record_failures(failures: dict[str, BaseException]) -> None:
    """An artifact for each of the first task runs that failed for good, by name."""
    for name, error in list(failures.items())[:MOST_FAILURES]:
        notes = [escape(note) for note in getattr(error, "__notes__", [])]
        text = "\n\n".join([f"**{type(error).__name__}**: {escape(str(error), 1000)}", *notes])
        create_markdown_artifact(
            text, key=f"failure-{name}".lower().replace("_", "-"), description=f"Why {escape(name)} failed"
        )


def _table(key: str, description: str, rows: list[Row], where: str) -> None:
    hidden = len(rows) - MOST_ROWS
    more = f"; {hidden:,} more rows are in {escape(where)}" if hidden > 0 else f"; from {escape(where)}"
    create_table_artifact(escaped(rows[:MOST_ROWS]), key=key, description=description + more)


def _telling_first(rows: list[Row]) -> list[Row]:
    """Where not all are shown: shards that were left out or lost documents to quarantine come before the others."""
    return rows if len(rows) <= MOST_ROWS else sorted(rows, key=lambda row: not (row["error"] or row["quarantined"]))


def _health(manifest: Manifest) -> str:
    found = [escape(warning) for warning in warnings(manifest)]
    return f"Rules that take more than they should: {'; '.join(found[:5]) or 'none'}"


def _duplicates(manifest: Manifest, where: str) -> str:
    """How many documents went as copies, by kind."""
    told = f"Each copy and the document that it repeats: {escape(where)}, a parquet file a shard."
    lines = [markdown(copy_rows(manifest)), "", told]
    return "\n".join(lines) + "\n"
