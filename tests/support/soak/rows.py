"""One line of the table of faults."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """``held`` of ``tried`` faults ended as promised; ``notes`` says what was seen, ``problems`` what should not be."""

    fault: str
    tried: int
    held: int
    notes: str
    problems: tuple[str, ...] = ()


def row(fault: str, tried: int, problems: dict[int, list[str]], notes: str) -> Row:
    """A row from the problems of each trial, by its number."""
    bad = {number: found for number, found in problems.items() if found}
    listed = tuple(f"{number}: {text}" for number, found in bad.items() for text in found)
    return Row(fault=fault, tried=tried, held=tried - len(bad), notes=notes, problems=listed)


def table(rows: "list[tuple[Row, float]]") -> str:
    """Rows with their seconds as Markdown."""
    lines = ["| fault | tried | held | seconds | seen |", "|---|---|---|---|---|"]
    lines += [f"| {row.fault} | {row.tried} | {row.held} | {seconds:.0f} | {row.notes} |" for row, seconds in rows]
    return "\n".join(lines)
