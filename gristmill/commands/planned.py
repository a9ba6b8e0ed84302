"""What a run would do, shown before it does it."""

from rich.table import Table

from gristmill.commands import say
from gristmill.config import PrepareConfig
from gristmill.errors import OtherRules
from gristmill.manifest import exists
from gristmill.reporting.tables import first_rows_lines, gigabytes, link_lines, passed_over_lines
from gristmill.reporting.terminal import Terminal
from gristmill.stages.ingest.plan import plan
from gristmill.stages.publish.budget import budget
from gristmill.types import Budget, Plan

ESTIMATED = ("shards", "sampled", "stored", "text", "kept", "documents", "ids")
"""Columns of what is known of a source before a run."""


def planned_for(config: PrepareConfig, *, dry_run: bool) -> Plan:
    """What a run would do. Where other rules are refused, a dry run also shows what --rebuild would do."""
    try:
        return plan(config)
    except OtherRules:
        if dry_run:
            rebuilt = config.beside()
            planned = plan(rebuilt)
            show_plan(planned, budget(planned.shards, rebuilt), rebuilt)
            say(
                f"--rebuild makes {rebuilt.dataset} in {rebuilt.destination}: it reuses what is done, does the other "
                "stages and shards, and decides on duplicates, encodes and packs where their input or rules differ"
            )
        raise


def show_plan(planned: Plan, found: Budget, config: PrepareConfig) -> None:
    """What a run would do, and what it needs on disk."""
    console = Terminal()
    table = Table("shard", "source", "input", "MB", title=f"{config.dataset}: {len(planned.shards)} input shards")
    for shard in planned.shards[:20]:
        part = "" if shard.part is None else f" [{shard.part['start']}:{shard.part['stop']}]"
        table.add_row(shard.name, shard.source, f"{shard.uri}{part}", f"{shard.size / 1e6:,.1f}")
    console.print(table)
    if len(planned.shards) > 20:
        console.print(f"and {len(planned.shards) - 20:,} more")
    if planned.shards:
        console.print(_estimates(found))
    for name, place, need, least, free in (
        ("work area", config.execution.work, found.work_bytes, found.work_least, found.work_free),
        ("output", config.destination, found.output_bytes, found.output_least, found.output_free),
    ):
        left = "" if free is None else f", {gigabytes(free)} free"
        about = f"about {gigabytes(need)}, {gigabytes(least)} at least"
        console.print(f"{name:9} {place}: {about}{left}", soft_wrap=True)
    for line in [line for first in planned.first_rows for line in first_rows_lines(first)]:
        console.print(line, soft_wrap=True, highlight=False)
    done = ", ".join(f"{stage} {count}" for stage, count in found.done.items())
    for line in [*passed_over_lines(planned.passed_over), *link_lines(planned.shards)]:
        console.print(line, soft_wrap=True)
    console.print(f"done      {done} of {len(planned.shards)} shards")
    if exists(config.destination):
        console.print(
            f"published already; a run would add generation {planned.generation}"
            if planned.shards
            else "published already: a run would change nothing"
        )


def _estimates(budget: Budget) -> Table:
    """What a sample of each source tells of its text and of that which its rules keep."""
    table = Table("source", *ESTIMATED, title="estimated from a sample of each source, before dedup")
    for part in budget.sources:
        kept = [gigabytes(part.kept), f"{part.documents:,}", f"{part.ids:,}"] if part.looked_into else ["?"] * 3
        counts = [f"{part.shards:,}", str(part.looked_into)]
        table.add_row(part.source, *counts, gigabytes(part.stored), gigabytes(part.text), *kept)
    return table
