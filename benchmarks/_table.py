"""Tables of a comparison, in Markdown, and the place in a page where they go."""

from collections.abc import Iterable
from pathlib import Path

from _results import FLOORS, OURS, Comparison, Measured

JOBS = {
    "tokens": "Tokenize only",
    "dedup": "Exact and MinHash dedup, then tokens",
    "full": "Web cascade, exact and MinHash dedup, split, two formats, verification",
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    names = list(head)
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *map(list, rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def comparison(found: Comparison) -> str:
    """All tables of a comparison."""
    machine = found.machine
    parts = [
        f"{found.date}, {machine.cores} cores of {machine.processor}, {machine.memory / 1e9:.0f} GB, Python "
        f"{machine.python}, {found.workers} workers; medians of {found.repeats}, every program run once a "
        "round, peaks the highest. MB are 10^6 bytes of text.\n\n"
        f"    {found.command}"
    ]
    for job, title in JOBS.items():
        programs = [one for one in found.programs if one.job == job]
        if programs:
            parts += [f"### {title}", corpus(found, job), speeds(programs, found, job), apart(programs)]
            parts.append(counts(programs))
    parts += ["### Versions", versions(found)]
    return "\n\n".join(part for part in parts if part)


def corpus(found: Comparison, job: str) -> str:
    one = found.corpora[job]
    return (
        f"{one.files} files, {one.documents:,} documents, {one.text_bytes / 1e6:,.1f} MB of text, "
        f"{one.file_bytes / 1e6:,.1f} MB as jsonl.gz."
    )


def speeds(programs: list[Measured], found: Comparison, job: str) -> str:
    """A row for each program; ratios are of the medians, above 1 is slower."""
    nbytes = found.corpora[job].text_bytes
    ours = next((one for one in programs if one.name == OURS and one.runs), None)
    floor = fastest_floor(found)
    head = ["program", "s", "from - to", "MB/s", "M tokens/s", "CPU s", "peak MB", "/ gristmill", "whole run"]
    rows = []
    for one in programs:
        if not one.runs:
            rows.append([one.title, f"not measured: {one.missing}", *[""] * (len(head) - 2 + (job == "tokens"))])
            continue
        seconds = [run.seconds for run in one.runs]
        row = [
            one.title,
            f"{one.middle('seconds'):.2f}",
            f"{min(seconds):.2f} - {max(seconds):.2f}",
            f"{nbytes / 1e6 / one.middle('seconds'):.1f}",
            f"{one.middle('tokens') / 1e6 / one.middle('seconds'):.2f}",
            f"{one.middle('cpu'):.1f}",
            f"{one.worst('peak') / 1e6:,.0f}",
            ratio(one, ours, "seconds"),
            ratio(one, ours, "wall"),
        ]
        rows.append(row + ([ratio(one, floor, "seconds")] if job == "tokens" else []))
    return table(head + (["/ floor"] if job == "tokens" else []), rows)


def ratio(one: Measured, other: Measured | None, field: str) -> str:
    """One's median over the other's."""
    return f"{one.middle(field) / other.middle(field):.2f}" if other is not None else ""


def fastest_floor(found: Comparison) -> Measured | None:
    """The faster one of the two ways to do the least."""
    floors = [one for name in FLOORS if (one := found.found(name, "tokens")) is not None]
    return min(floors, key=lambda one: one.middle("seconds"), default=None)


def apart(programs: list[Measured]) -> str:
    """What our row leaves out."""
    ours = next((one for one in programs if one.name == OURS and one.runs), None)
    if ours is None:
        return ""
    return (
        "Gristmill's seconds are from the first stage function to the manifest. Before that Python, Prefect and its "
        f"server start, and workers load the tokenizer: {ours.middle('start'):.1f} s. The whole command takes "
        f"{ours.middle('wall'):.1f} s and {ours.middle('whole_cpu'):.1f} CPU s, and is what the column *whole run* "
        f"compares. The server, in none of these figures: {ours.middle('server_cpu'):.1f} CPU s, "
        f"{ours.worst('server_peak') / 1e6:,.0f} MB. No stage function ran in {ours.middle('orchestration'):.1%} of "
        "the seconds."
    )


def counts(programs: list[Measured]) -> str:
    """Documents and ids that each wrote, as counted in its files, beside ours."""
    ours = next((one for one in programs if one.name == OURS and one.runs), None)
    rows = [
        [one.title, f"{one.middle('documents'):,.0f}", f"{one.middle('tokens'):,.0f}", difference(one, ours)]
        for one in programs
        if one.runs
    ]
    return (
        table(["program", "documents", "ids, ends included", "difference from gristmill's ids"], rows) if rows else ""
    )


def difference(one: Measured, ours: Measured | None) -> str:
    """By how much the ids are more or fewer than ours, and why; runs that do not agree are named."""
    kinds = {(run.documents, run.tokens) for run in one.runs}
    if len(kinds) > 1:
        return f"RUNS DIFFER: {', '.join(f'{documents:,} / {tokens:,}' for documents, tokens in sorted(kinds))}"
    if ours is None or one is ours:
        return ""
    more = one.runs[0].tokens - ours.runs[0].tokens
    ends = one.runs[0].documents - ours.runs[0].documents
    if not more and not ends:
        return "none"
    return f"{more:+,} ids, {ends:+,} documents: {one.differs or 'UNEXPLAINED'}"


def unexplained(found: Comparison) -> list[str]:
    """The programs that counted otherwise than gristmill, or than themselves, for no known reason."""
    ours = {one.job: one for one in found.programs if one.name == OURS and one.runs}
    told = {f"{one.job}: {one.title}": difference(one, ours.get(one.job)) for one in found.programs if one.runs}
    return [f"{name}: {line}" for name, line in told.items() if "UNEXPLAINED" in line or "DIFFER" in line]


def versions(found: Comparison) -> str:
    """Of every program's libraries, those that have the same in one line."""
    names: dict[str, list[str]] = {}
    for one in found.programs:
        line = ", ".join(f"{package} {number}" for package, number in one.versions.items())
        if line and one.name not in names.setdefault(line, []):
            names[line].append(one.name)
    return "\n".join(f"- {', '.join(told)}: {line}" for line, told in names.items())


def replace(page: Path, region: str, content: str) -> None:
    """Put ``content`` between the two marks of a region. Raises ``ValueError`` where the page has no such marks."""
    start, end = f"<!-- {region} -->", f"<!-- end of {region} -->"
    text = page.read_text(encoding="utf-8")
    before, opened, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"{page}: the marks {start} and {end} are not there")
    page.write_text(f"{before}{start}\n\n{content}\n\n{end}{after}", encoding="utf-8")
