"""Lines that a page template wrote."""

from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from gristmill.cleaning._regex import Pattern
from gristmill.cleaning._utf8 import newlines
from gristmill.cleaning.base import Rule

BOILERPLATE = (
    r"(?:skip|jump) to (?:main |page )?(?:content|navigation)",
    r"(?:back|return|go) to (?:the )?top",
    r"(?:read|show|load|learn|see) (?:more|less)(?: \xbb|\.\.\.|\x{2026})?",
    r"(?:previous|next)(?: (?:page|post|article))?",
    r"(?:home|menu|search|login|log ?in|sign (?:in|up)|register|subscribe|advertisement|share|print(?: this page)?)",
    r"(?:share|follow us|tweet|like us)(?: this)?(?: on (?:facebook|twitter|x|instagram|linkedin|pinterest))?",
    r"(?:copyright|\xa9|\(c\)).{0,80}",
    r"all rights reserved\.?",
    r"(?:we|this (?:web ?)?site) uses? cookies.{0,160}",
    r"(?:accept|reject|manage)(?: all)? cookies",
    r"(?:privacy policy|terms (?:of (?:use|service)|and conditions)|cookie policy)(?: ?[|\x{b7}-] ?.{0,60})?",
    r"(?:posted|published|updated) (?:by|on|in) .{0,60}",
    r"(?:you must|please) (?:be logged in|log ?in|enable javascript).{0,80}",
    r"\d+ (?:comments?|shares?|likes?|views?)",
)
"""Whole lines of navigation, sharing, cookie and copyright notices in English."""


class Lines(Rule):
    """Removes each line that one of ``patterns`` (RE2) describes as a whole, whatever its case and outer blanks.

    Bounded repeats keep sentences that only begin like a notice; one at the front of a pattern costs much time. CRLF
    and CR become newlines.
    """

    version: ClassVar[int] = 2

    patterns: tuple[Pattern, ...] = Field(
        BOILERPLATE,
        description="RE2 patterns, each of a whole line; the default: 14 of notices and navigation in English.",
    )

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        if not self.patterns:
            return texts
        whole = "|".join(f"(?:{pattern})" for pattern in self.patterns)
        return pc.replace_substring_regex(newlines(texts), rf"(?im)^[ \t]*(?:{whole})[ \t]*(?:\n|\z)", "")
