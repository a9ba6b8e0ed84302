"""The quality heuristics of the Gopher paper."""

from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from gristmill.cleaning._characters import ALNUM, LETTER, SOLO
from gristmill.cleaning._hashing import text_hashes
from gristmill.cleaning._line_ends import DOT, ELLIPSIS, ends_in_ellipsis
from gristmill.cleaning._table_filter import TableFilter
from gristmill.cleaning._tables import Tables, share
from gristmill.cleaning._utf8 import Ints, runs
from gristmill.cleaning.base import Measured

STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")
BULLETS = ("\u2022", "-")
HASH = ord("#")


class GopherQuality(TableFilter):
    """Drops documents that fail a rule of Rae et al. 2021, "Scaling Language Models", appendix A.1, quality filter.

    A word is what stands between white space; each ideograph, kana and Thai syllable is one. Words without a letter or
    a digit are not counted for ``min_words``, ``max_words`` and the mean length. The mean length is judged where at
    least half of those words are spaced ones, and over these alone: a word of Chinese would always be too short.
    ``stop_words`` are English, compared as written; set those of another language, or ``min_stop_words: 0``. Shares of
    lines are over lines that are not empty; datatrove counts empty ones too, so its shares are lower.

    The paper's values are for web pages. Presets: a forum post that passes ``length`` has about ten words, a book may
    have more than 100,000; of code the paper's values would keep 43 % of the modules of Python's own library, the
    preset, which leaves out what is about prose, 97 %.

    Reasons: ``too_few_words``, ``too_many_words``, ``short_words``, ``long_words``, ``many_hashes``,
    ``many_ellipses``, ``bullet_lines``, ``ellipsis_lines``, ``few_letters``, ``few_stop_words``.
    """

    version: ClassVar[int] = 2
    genres: ClassVar[dict[str, dict[str, Any]]] = {
        "forum": {"min_words": 10},
        "book": {"max_words": 1_000_000},
        "code": {
            "min_words": 10,
            "min_word_length": 0,
            "max_word_length": 1000,
            "max_symbols_per_word": 1,
            "min_words_with_letter": 0.5,
            "min_stop_words": 0,
        },
    }

    min_words: int = Field(50, ge=0, description="Fewest words with a letter or a digit.")
    max_words: int = Field(100_000, ge=0, description="Most words with a letter or a digit.")
    min_word_length: float = Field(3, ge=0, description="Least mean length of a word, in characters.")
    max_word_length: float = Field(10, ge=0, description="Most mean length of a word, in characters.")
    max_symbols_per_word: float = Field(0.1, ge=0, description="Most hashes, and most ellipses, per word.")
    max_bullet_lines: float = Field(0.9, ge=0, le=1, description="Most share of lines that begin with a bullet.")
    max_ellipsis_lines: float = Field(0.3, ge=0, le=1, description="Most share of lines that end in an ellipsis.")
    min_words_with_letter: float = Field(0.8, ge=0, le=1, description="Least share of words with a letter in them.")
    min_stop_words: int = Field(2, ge=0, description="Fewest different stop words in a document.")
    stop_words: tuple[str, ...] = Field(
        STOP_WORDS, description="Words that prose has, compared as written; the default is English."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.min_words > self.max_words or self.min_word_length > self.max_word_length:
            raise ValueError("a minimum is above its maximum")
        if self.min_stop_words > len(set(self.stop_words)):
            raise ValueError(f"min_stop_words {self.min_stop_words} is more than the stop words there are")
        return self

    def figures(self, tables: Tables) -> dict[str, Measured]:
        words, lines = tables.words, tables.lines
        proper = (tables.word_flags & ALNUM) != 0
        spaced = proper & ((tables.word_flags & SOLO) == 0)
        count, spaced_count = tables.number(words, proper), tables.number(words, spaced)
        judged = (2 * spaced_count >= count) & (count > 0)
        length = np.where(judged, share(tables.total(words, spaced), spaced_count), np.nan)
        hashes = tables.count(tables.characters == HASH)
        ellipses = tables.count(tables.characters == ELLIPSIS) + _triple_dots(tables)
        bullets = np.isin(tables.characters[lines.starts], [ord(bullet) for bullet in BULLETS])
        ellipsis_lines = tables.number(lines, ends_in_ellipsis(tables))
        with_letter = tables.number(words, (tables.word_flags & LETTER) != 0)
        return {
            "too_few_words": Measured(values=count, least=self.min_words),
            "too_many_words": Measured(values=count, most=self.max_words),
            "short_words": Measured(values=length, least=self.min_word_length),
            "long_words": Measured(values=length, most=self.max_word_length),
            "many_hashes": Measured(values=share(hashes, words.counts), most=self.max_symbols_per_word),
            "many_ellipses": Measured(values=share(ellipses, words.counts), most=self.max_symbols_per_word),
            "bullet_lines": Measured(
                values=share(tables.number(lines, bullets), lines.counts), most=self.max_bullet_lines
            ),
            "ellipsis_lines": Measured(values=share(ellipsis_lines, lines.counts), most=self.max_ellipsis_lines),
            "few_letters": Measured(values=share(with_letter, words.counts), least=self.min_words_with_letter),
            "few_stop_words": Measured(values=self._stop_words_found(tables), least=self.min_stop_words),
        }

    def _stop_words_found(self, tables: Tables) -> Ints:
        """Per document, how many different stop words occur."""
        wanted = np.unique(text_hashes(self.stop_words))
        if len(wanted) == 0:
            return np.zeros(len(tables.lengths), np.int64)
        words = tables.words
        index = np.minimum(np.searchsorted(wanted, words.hashes), len(wanted) - 1)
        hits = wanted[index] == words.hashes
        found = np.zeros((len(tables.lengths), len(wanted)), np.bool_)
        found[words.documents[hits], index[hits]] = True
        counts: Ints = found.sum(axis=1)
        return counts


def _triple_dots(tables: Tables) -> Ints:
    """Per document, groups of three dots, as ``str.count`` finds them."""
    dots = np.flatnonzero(tables.characters == DOT)
    found = runs(dots, tables.offsets)
    triples = np.concatenate(([0], np.cumsum((found.stops - found.starts) // 3)))
    return np.diff(triples[np.searchsorted(dots[found.starts], tables.offsets)])
