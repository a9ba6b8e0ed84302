"""Regular expressions of RE2, as Arrow runs them over a whole batch at several hundred MB a second."""

from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, StringConstraints


def _compiles(pattern: str) -> str:
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{pattern!r} is not a pattern of RE2: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A field that holds a pattern in RE2's syntax: no look-around, no back references."""


Phrase = Annotated[str, StringConstraints(min_length=1)]
"""A field that holds text to look for: an empty one would be found everywhere."""


def any_of(phrases: tuple[str, ...]) -> str:
    """A pattern for any of the phrases, taken literally."""
    return "(?:" + "|".join(_literal(phrase) for phrase in phrases) + ")"


def _literal(phrase: str) -> str:
    return "".join(char if char.isalnum() or ord(char) > 127 else f"\\x{{{ord(char):x}}}" for char in phrase)
