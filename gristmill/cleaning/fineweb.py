"""The heuristics that FineWeb added to those of Gopher and C4."""

from typing import ClassVar

from pydantic import Field

from gristmill.cleaning._line_ends import ended_lines
from gristmill.cleaning._repeats import piece_groups
from gristmill.cleaning._table_filter import TableFilter
from gristmill.cleaning._tables import Tables, share
from gristmill.cleaning.base import Measured


class Fineweb(TableFilter):
    """Drops lists, menus and boilerplate (Penedo et al. 2024, "The FineWeb Datasets"; values as in datatrove).

    Shares of lines are over lines that are not empty, stripped of white space. Reasons: ``no_text``;
    ``few_line_ends`` (lines ending in one of ``terminal``); ``short_lines`` (``short_line`` characters or fewer);
    ``duplicate_characters`` (in lines that came up before, of the characters that are not newlines); ``newlines``
    (newlines per word).

    datatrove counts fewer lines as ended: by default a quote at the end of a line ends it here, as in C4, and quotes
    and brackets may follow a mark; give ``terminal`` for exactly the marks of your own list. Thai and Lao end sentences
    without a mark: give those sources ``min_line_ends: 0``.
    """

    version: ClassVar[int] = 2

    terminal: str | None = Field(
        None,
        min_length=1,
        description="Characters that end a line of prose; null: sentence ends and quotes of all scripts.",
    )
    min_line_ends: float = Field(0.12, ge=0, le=1, description="Least share of lines that end in one of them.")
    max_short_lines: float = Field(0.67, ge=0, le=1, description="Most share of short lines.")
    short_line: int = Field(30, ge=0, description="A line of so many characters or fewer is short.")
    max_duplicate_characters: float = Field(
        0.01, ge=0, le=1, description="Most share of characters in lines that came up before."
    )
    max_newlines: float = Field(0.3, ge=0, description="Most newlines per word.")

    def figures(self, tables: Tables) -> dict[str, Measured]:
        lines = tables.lines
        ended = tables.number(lines, ended_lines(tables, self.terminal))
        short = tables.number(lines, lines.lengths <= self.short_line)
        duplicate = tables.total(lines, piece_groups(lines).later())
        newlines = tables.count(tables.characters == ord("\n"))
        return {
            "no_text": Measured(values=lines.counts == 0),
            "few_line_ends": Measured(values=share(ended, lines.counts), least=self.min_line_ends),
            "short_lines": Measured(values=share(short, lines.counts), most=self.max_short_lines),
            "duplicate_characters": Measured(
                values=share(duplicate, tables.lengths - newlines), most=self.max_duplicate_characters
            ),
            "newlines": Measured(values=share(newlines, tables.words.counts), most=self.max_newlines),
        }
