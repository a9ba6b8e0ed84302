"""Runs of sentences that stand in an earlier place already."""

import re

import pyarrow as pa
from pydantic import Field

from gristmill.columns import utf8
from gristmill.dedup import _spans
from gristmill.dedup.base import SpanDedup, Spans

END = re.compile(rb"[.!?][\"')\]]*[ \t\n]+|\n[ \t\n]*|(?:\xe3\x80\x82|\xef\xbc\x81|\xef\xbc\x9f)[ \t\n]*")
"""A sentence ends at Western punctuation before white space, at a line feed, or at the CJK full stop, exclamation or
question mark; white space that follows belongs to it, or a blank line would count as a sentence."""


class Sentence(SpanDedup):
    """Removes every run of ``sentences`` consecutive sentences that was seen before, as C4 does with three (Raffel et
    al. 2020, section 2.2). Runs overlap, so a longer copied passage goes whole; they never cross documents."""

    sentences: int = Field(3, ge=1, le=100, description="Sentences a run.")
    min_bytes: int = Field(100, ge=1, description="Shorter runs are left alone; bytes of UTF-8.")

    def spans(self, texts: pa.StringArray) -> Spans:
        offsets, view = utf8(texts)
        data = bytes(view)
        document, start, stop, _ = _spans.parts(data, offsets, END)
        last = self.sentences - 1
        if last >= len(start):
            document, start, stop = document[:0], start[:0], stop[:0]
        elif last:
            whole = document[:-last] == document[last:]
            document, start, stop = document[:-last][whole], start[:-last][whole], stop[last:][whole]
        return _spans.spans(data, offsets, document, start, stop, stop, self.min_bytes)
