"""Paragraphs that stand in an earlier place already."""

from typing import ClassVar

import pyarrow as pa
from pydantic import Field

from gristmill.columns import utf8
from gristmill.dedup import _spans
from gristmill.dedup.base import SpanDedup, Spans
from gristmill.text.whitespace import separator


class Paragraph(SpanDedup):
    """Removes every paragraph that was seen before, in this document or an earlier one. Paragraphs are what stands
    between two ``separator``; they are equal when their UTF-8 bytes are, outer white space and kinds of line ends
    aside. Of genre ``code`` the indentation of the first line counts too."""

    version: ClassVar[int] = 3

    separator: str = Field("\n\n", min_length=1, description="What ends a paragraph; one line feed for lines.")
    min_bytes: int = Field(100, ge=1, description="Shorter paragraphs are left alone; bytes of UTF-8.")

    def spans(self, texts: pa.StringArray, *, programs: bool = False) -> Spans:
        offsets, view = utf8(texts)
        data = bytes(view)
        found = _spans.parts(data, offsets, separator(self.separator))
        return _spans.spans(data, offsets, found, self.min_bytes, programs=programs)
