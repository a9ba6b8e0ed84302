"""Web addresses in running text."""

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from gristmill.cleaning.base import Rule

URL = r"(?i)\b(?:(?:https?|ftp)://|www\.)[!#-;=?-~]*[#$%&*+\-/0-9=@A-Z_a-z~]"
"""From a scheme or ``www.`` over printable ASCII without quotes and angle brackets; punctuation after it stays."""


class Urls(Rule):
    """Keeps web addresses, replaces each by ``placeholder``, or drops them."""

    mode: Literal["keep", "placeholder", "drop"] = Field("placeholder", description="What happens to web addresses.")
    placeholder: str = Field("[URL]", description="What stands for one in mode placeholder.")

    def rewrite(self, texts: pa.StringArray) -> pa.StringArray:
        if self.mode == "keep":
            return texts
        replacement = self.placeholder.replace("\\", r"\\") if self.mode == "placeholder" else ""
        return pc.replace_substring_regex(texts, URL, replacement)
