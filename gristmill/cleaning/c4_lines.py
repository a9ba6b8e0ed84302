"""The line rules of the C4 paper; ``c4`` holds the rules that drop whole documents."""

import re
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from gristmill.cleaning._line_ends import ended_lines, ends_in_ellipsis
from gristmill.cleaning._phrases import lines_with
from gristmill.cleaning._regex import Phrase
from gristmill.cleaning._table_filter import tables
from gristmill.cleaning._tables import Tables
from gristmill.cleaning._utf8 import NEWLINE, Bools, Spans, Utf8, newlines, rows, strings, view, without
from gristmill.cleaning.base import Rule

POLICIES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
CITATION = re.compile(rb"\[(?:[0-9]*|edit|citation needed)\]")


class C4Lines(Rule):
    """Keeps the lines that read like sentences (Raffel et al. 2020, section 2.2; values as in datatrove).

    Citation marks of wikis go first. A line, stripped of white space, stays if it ends in one of ``terminal`` and not
    in an ellipsis (empty ``terminal``: any end will do), has ``min_words`` words or more, none longer than
    ``max_word_length`` characters, and none of ``phrases``, whatever their case in ASCII. Kept lines are joined by one
    newline. The original list of ends (full stop, question mark, exclamation mark, end quote) is widened to all
    scripts, and quotes and brackets may follow a mark. Thai and Lao end sentences without a mark: give those sources
    ``terminal: ""``.
    """

    version: ClassVar[int] = 2

    citations: Literal["remove", "keep"] = Field(
        "remove", description="What happens to the citation marks of wikis, such as [1]."
    )
    terminal: str | None = Field(
        None,
        description="Characters that a line may end in; empty: any; null: sentence ends and quotes of all scripts.",
    )
    min_words: int = Field(3, ge=0, description="Fewest words of a line.")
    max_word_length: int = Field(1000, ge=1, description="Most characters of a word in a line.")
    phrases: tuple[Phrase, ...] = Field(
        ("javascript", *POLICIES), description="A line that holds one of these goes, whatever their case."
    )

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        texts = newlines(texts)
        if self.citations == "remove":
            texts = _without_citations(texts)
        parts = [_only(part, self._kept(part)) for part in tables(texts)]
        return pa.concat_arrays(parts) if parts else texts

    def _kept(self, part: Tables) -> Bools:
        words, lines = part.words, part.lines
        bounds = np.searchsorted(words.starts, np.append(lines.starts, len(part.characters)))
        kept: Bools = np.diff(bounds) >= self.min_words
        if self.terminal != "":
            kept &= ended_lines(part, self.terminal) & ~ends_in_ellipsis(part)
        long_words = words.starts[words.lengths > self.max_word_length]
        kept[np.searchsorted(lines.starts, long_words, side="right") - 1] = False
        kept[lines_with(part, self.phrases)] = False
        return kept


def _without_citations(texts: pa.StringArray) -> pa.StringArray:
    utf8 = view(texts)
    found = [match.span() for match in CITATION.finditer(utf8.data.tobytes())]
    spans = np.array(found, np.int64).reshape(-1, 2)
    inside = rows(spans[:, 0], utf8.offsets) == rows(spans[:, 1] - 1, utf8.offsets)
    spans = spans[inside]
    return without(utf8, Spans(spans[:, 0], spans[:, 1]).positions()) if len(spans) else texts


def _only(part: Tables, kept: Bools) -> pa.StringArray:
    """The texts with the kept lines alone, each but the last of its document followed by one newline."""
    starts = part.byte_offsets[part.lines.starts[kept]]
    stops = part.byte_offsets[part.lines.stops[kept]]
    documents = part.lines.documents[kept]
    followed = np.append(documents[1:] == documents[:-1], np.zeros(min(1, len(documents)), np.bool_))
    data = part.utf8.data.copy()
    data[stops[followed]] = NEWLINE
    lengths = stops - starts + followed
    sizes = np.bincount(documents, lengths, minlength=len(part.lengths)).astype(np.int64)
    keep = np.zeros(len(data) + 1, np.int8)
    keep[starts] += 1
    keep[starts + lengths] -= 1
    return strings(
        Utf8(data[np.cumsum(keep, dtype=np.int8)[:-1].view(np.bool_)], np.concatenate(([0], np.cumsum(sizes))))
    )
