"""The repetition heuristics of the Gopher paper."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from gristmill.cleaning._repeats import piece_groups, repeated_ngrams
from gristmill.cleaning._table_filter import TableFilter
from gristmill.cleaning._tables import Tables, share
from gristmill.cleaning.base import Measured

TOP = {2: 0.20, 3: 0.18, 4: 0.16}
DUPLICATE = {5: 0.15, 6: 0.14, 7: 0.13, 8: 0.12, 9: 0.11, 10: 0.10}

Shares = dict[Annotated[int, Field(ge=2)], Annotated[float, Field(ge=0, le=1)]]
"""The highest share allowed, by the length of the run in words."""


class GopherRepetition(TableFilter):
    """Drops documents that repeat themselves, by Rae et al. 2021, "Scaling Language Models", table A1.

    Lines and paragraphs that came up before in the document: their share of all, and their characters' share of the
    document's. Runs of n words: all occurrences of the most frequent run (two or more), ``max_top`` by n; and the words
    inside runs that came up before, each word once, ``max_duplicate`` by n; both as shares of the document's
    characters. A word is what stands between white space, or one ideograph, kana or Thai syllable; five ideographs are
    about three words, so sources in Chinese or Japanese want runs about twice as long.

    Reasons: ``duplicate_paragraphs``, ``duplicate_paragraph_characters``, ``duplicate_lines``,
    ``duplicate_line_characters``, ``top_<n>_gram``, ``duplicate_<n>_grams``.
    """

    version: ClassVar[int] = 2

    max_duplicate_lines: float = Field(0.3, ge=0, le=1, description="Most share of lines that came up before.")
    max_duplicate_paragraphs: float = Field(
        0.3, ge=0, le=1, description="Most share of paragraphs that came up before."
    )
    max_duplicate_line_characters: float = Field(0.2, ge=0, le=1, description="Most share of characters in such lines.")
    max_duplicate_paragraph_characters: float = Field(
        0.2, ge=0, le=1, description="Most share of characters in such paragraphs."
    )
    max_top: Shares = Field(TOP, description="By n: most share of characters in the most frequent run of n words.")
    max_duplicate: Shares = Field(
        DUPLICATE, description="By n: most share of characters in runs of n words that came up before."
    )

    def figures(self, tables: Tables) -> dict[str, Measured]:
        paragraphs, lines = tables.paragraphs, tables.lines
        later_paragraphs, later_lines = piece_groups(paragraphs).later(), piece_groups(lines).later()
        paragraph_share = share(tables.number(paragraphs, later_paragraphs), paragraphs.counts)
        paragraph_characters = share(tables.total(paragraphs, later_paragraphs), tables.lengths)
        line_share = share(tables.number(lines, later_lines), lines.counts)
        line_characters = share(tables.total(lines, later_lines), tables.lengths)
        return {
            "duplicate_paragraphs": Measured(values=paragraph_share, most=self.max_duplicate_paragraphs),
            "duplicate_paragraph_characters": Measured(
                values=paragraph_characters, most=self.max_duplicate_paragraph_characters
            ),
            "duplicate_lines": Measured(values=line_share, most=self.max_duplicate_lines),
            "duplicate_line_characters": Measured(values=line_characters, most=self.max_duplicate_line_characters),
            **self._ngrams(tables),
        }

    def _ngrams(self, tables: Tables) -> dict[str, Measured]:
        top: dict[str, Measured] = {}
        duplicate: dict[str, Measured] = {}
        ends = np.concatenate(([0], np.cumsum(tables.words.lengths)))
        for ngrams in repeated_ngrams(tables.words, max((1, *self.max_top, *self.max_duplicate))):
            n = ngrams.n
            if n in self.max_top:
                shares = share(ngrams.top_characters(), tables.lengths)
                top[f"top_{n}_gram"] = Measured(values=shares, most=self.max_top[n])
            if n in self.max_duplicate:
                shares = share(ngrams.covered_characters(ends), tables.lengths)
                duplicate[f"duplicate_{n}_grams"] = Measured(values=shares, most=self.max_duplicate[n])
        return top | duplicate
