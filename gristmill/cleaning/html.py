"""Plain text out of documents that are HTML."""

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field
from resiliparse.extract.html2text import extract_plain_text

from gristmill.cleaning.base import Rule
from gristmill.columns import strings

TAG = (
    r"(?i)</?(?:!doctype|html|head|body|title|meta|link|script|style|div|span|p|br|hr|a|img|h[1-6]|ul|ol|li|dl|dt|dd"
    r"|table|tr|td|th|b|i|em|strong|pre|code|blockquote|font|center|section|article|nav|header|footer|form|input)"
    r"(?:\s[^<>]*)?/?>"
)
"""RE2: an opening or closing tag of an element that pages are made of."""


class Html(Rule):
    """Replaces a document with ``min_tags`` HTML tags or more by its visible text; others pass unchanged.

    The parser follows the HTML standard and repairs what is broken; scripts, styles, comments and the head are left
    out, entities become characters, and paragraphs, line breaks, list items, table cells and preformatted text keep
    their lines.
    Text that only mentions a tag or two is not HTML, and would lose its line breaks: hence the minimum.

    ``extract: main`` leaves out navigation, headers, footers, sidebars and forms as well, by Resiliparse's rules on
    element names, classes and ids; a page without any main content becomes empty.
    """

    min_tags: int = Field(3, ge=1, description="A document with fewer tags is taken for plain text.")
    extract: Literal["all", "main"] = Field(
        "all", description="All visible text, or the main content without navigation, sidebars and forms."
    )

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        mask = pc.greater_equal(pc.count_substring_regex(texts, TAG), self.min_tags)
        pages = texts.filter(mask).to_pylist()
        return pc.replace_with_mask(texts, mask, strings([self._visible(page) for page in pages]))

    def _visible(self, page: str) -> str:
        # Chosen over selectolax, which is three times as fast but glues blocks together and splits "b</b>," in two.
        main = self.extract == "main"
        return extract_plain_text(
            page, preserve_formatting=True, main_content=main, list_bullets=False, alt_texts=False
        )
