"""What nobody sees in a text, and where its lines end: one rule for sources, cleaning, dedup and reports."""

import json
import re
from re import Pattern

_INVISIBLE = (
    r"\t-\r \u0085\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160\u1680\u17b4-\u17b5"
    r"\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""White space, format characters (Cf), what fonts show as nothing by default (Default_Ignorable_Code_Point: fillers,
joiners, variation selectors, tags) and the empty Braille pattern, of Unicode 17. Control characters are none of these:
they go where a rule takes them away."""

VISIBLE = "[^" + re.sub(r"\\[uU]([0-9a-f]+)", r"\\x{\1}", _INVISIBLE) + "]"
"""RE2, for columns: a text that it matches nowhere is blank."""

_VISIBLE = re.compile(f"[^{_INVISIBLE}]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_ANY_LINE_END = rb"(?>\r\n|\r|\n)"


def is_blank(text: str) -> bool:
    """Whether nothing in the text can be seen."""
    return _VISIBLE.search(text) is None


def separator(text: str) -> Pattern[bytes]:
    """What stands between two parts of a text in UTF-8; a line end in ``text`` stands for LF, CRLF and CR alike."""
    parts = _LINE_END.split(text)
    return re.compile(_ANY_LINE_END.join(re.escape(part.encode()) for part in parts))


_ESCAPES = {r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\f": "\f"}


def unescaped(text: str) -> str:
    """With the characters for which its escapes were probably written."""
    return re.sub(r"\\[nrtf]", lambda found: _ESCAPES[found[0]], text)


def unmet(text: str) -> str:
    """What is said of a separator that does not occur."""
    meant = unescaped(text)
    remedy = f": YAML reads a backslash in double quotes alone, separator: {json.dumps(meant)}" if meant != text else ""
    return f"the separator {text!r} does not occur, so that each file is one document{remedy}"


def unix_lines(data: bytes) -> bytes:
    """With LF for every line end."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data
