"""Blanks that carry nothing: at line ends, between paragraphs, around the document and, in prose, inside lines."""

from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from gristmill.cleaning._utf8 import (
    NEWLINE,
    SPACE,
    TAB,
    Ints,
    Spans,
    Utf8,
    before,
    newlines,
    on_edge,
    runs,
    view,
    without,
)
from gristmill.cleaning.base import Rule


class Whitespace(Rule):
    """Strips what nobody would miss; a blank is a space or a tab, so ideographic and no-break spaces stay.

    In both modes: blanks at the end of a line go, at most ``blank_lines`` empty lines stand in a row, and a document
    neither starts nor ends with an empty line or a newline. ``prose`` also cuts a run of blanks inside or at the
    front of a line to its first; ``code`` keeps indentation and inner blanks as they are. CRLF and CR become newlines.
    """

    version: ClassVar[int] = 2
    genres: ClassVar[dict[str, dict[str, Any]]] = {"code": {"mode": "code"}}

    mode: Literal["prose", "code"] = Field(
        "prose", description="Prose, or code, whose indentation and inner blanks stay."
    )
    blank_lines: int = Field(1, ge=0, description="Most empty lines in a row.")

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        texts = newlines(texts)
        utf8 = view(texts)
        blanks = self._surplus_blanks(utf8)
        surplus = np.concatenate((blanks, self._surplus_newlines(utf8, blanks)))
        return without(utf8, np.sort(surplus)) if len(surplus) else texts

    def _surplus_blanks(self, utf8: Utf8) -> Ints:
        blanks = np.flatnonzero((utf8.data == SPACE) | (utf8.data == TAB))
        found = runs(blanks, utf8.offsets)
        starts, stops = blanks[found.starts], blanks[found.stops - 1] + 1
        at_line_end = on_edge(stops, utf8.offsets) | before(utf8, stops, NEWLINE)
        if self.mode == "code":
            return Spans(starts[at_line_end], stops[at_line_end]).positions()
        return Spans(starts + ~at_line_end, stops).positions()

    def _surplus_newlines(self, utf8: Utf8, gone: Ints) -> Ints:
        """Newlines beyond what is allowed, once the blanks at the positions ``gone`` are taken away."""
        feeds = np.flatnonzero(utf8.data == NEWLINE)
        places = feeds - np.searchsorted(gone, feeds)
        edges = utf8.offsets - np.searchsorted(gone, utf8.offsets)
        found = runs(places, edges)
        at_edge = on_edge(places[found.starts], edges) | on_edge(places[found.stops - 1] + 1, edges)
        allowed = np.where(at_edge, 0, self.blank_lines + 1)
        return feeds[Spans(np.minimum(found.starts + allowed, found.stops), found.stops).positions()]
