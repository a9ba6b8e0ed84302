"""Emoji, with the marks that join, colour and style them."""

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from gristmill.cleaning.base import Rule

_PICTURE = (
    r"[\x{231A}\x{231B}\x{23E9}-\x{23EC}\x{23F0}\x{23F3}\x{25FD}\x{25FE}\x{2614}\x{2615}\x{2648}-\x{2653}\x{267F}"
    r"\x{2693}\x{26A1}\x{26AA}\x{26AB}\x{26BD}\x{26BE}\x{26C4}\x{26C5}\x{26CE}\x{26D4}\x{26EA}\x{26F2}\x{26F3}"
    r"\x{26F5}\x{26FA}\x{26FD}\x{2705}\x{270A}\x{270B}\x{2728}\x{274C}\x{274E}\x{2753}-\x{2755}\x{2757}"
    r"\x{2795}-\x{2797}\x{27B0}\x{27BF}\x{2B1B}\x{2B1C}\x{2B50}\x{2B55}"
    r"\x{1F004}\x{1F0CF}\x{1F18E}\x{1F191}-\x{1F19A}\x{1F1E6}-\x{1F1FF}\x{1F201}\x{1F21A}\x{1F22F}"
    r"\x{1F232}-\x{1F23A}\x{1F250}\x{1F251}\x{1F300}-\x{1F64F}\x{1F680}-\x{1F6FF}\x{1F7E0}-\x{1F7EB}\x{1F7F0}"
    r"\x{1F90C}-\x{1F9FF}\x{1FA70}-\x{1FAFF}]"
)
"""Characters that are pictures by themselves: Emoji_Presentation of Unicode Technical Standard 51, blocks filled up."""
_STYLED = r"[\x{A9}\x{AE}\x{203C}-\x{3299}\x{1F170}-\x{1F202}]\x{FE0F}"
"""Symbols of text that the selector after them turns into pictures."""
_KEYCAP = r"[0-9#*]\x{FE0F}?\x{20E3}"
_MARKS = r"[\x{FE0E}\x{FE0F}\x{20E3}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}]*"
_JOINED = rf"(?:\x{{200D}}(?:{_PICTURE}|[\x{{2190}}-\x{{2BFF}}]){_MARKS})*"
EMOJI = f"(?:(?:{_PICTURE}|{_STYLED}){_MARKS}{_JOINED}|{_KEYCAP})"
"""RE2: pictures with skin tones and tags, flags, joined sequences, styled symbols and keycaps."""


class Emoji(Rule):
    """Keeps emoji or drops them; digits, check marks, arrows and the like are text unless styled as emoji."""

    mode: Literal["keep", "drop"] = Field("drop", description="What happens to emoji.")

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        return texts if self.mode == "keep" else pc.replace_substring_regex(texts, EMOJI, "")
