"""Which texts are blank, and how a separator meets the line ends of a file."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import regex

from gristmill.text.whitespace import VISIBLE, is_blank, separator

BY_UNICODE = regex.compile(r"[\p{White_Space}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]")


def test_every_character_is_judged_as_unicode_describes_it():
    """A document of joiners, fillers, marks or variation selectors alone was published and counted. Arrow and Python
    must agree, or `explain` tells another story than the run."""
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    visible = pc.match_substring_regex(pa.array(characters), VISIBLE).to_pylist()
    wanted = [BY_UNICODE.fullmatch(character) is None for character in characters]
    assert visible == wanted
    assert [not is_blank(character) for character in characters] == wanted


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("", True),
        ("\u200b\u200d\ufeff \n\u2060", True),
        ("\u3164\u115f\uffa0\u2800\u034f\ufe0f\U000e0100\U000e0041", True),
        ("\u00ad\u180e\u061c\u2066", True),
        ("\x01\x02", False),
        ("\u200bx", False),
        ("\U0001f600", False),
    ],
)
def test_a_text_is_blank_when_nothing_in_it_can_be_seen(text: str, blank: bool):
    assert is_blank(text) == blank


@pytest.mark.parametrize(
    ("between", "data", "parts"),
    [
        ("\n\n", b"a\r\nb\r\n\r\nc\n\nd\r\re", [b"a\r\nb", b"c", b"d", b"e"]),
        ("\r\n", b"a\nb\rc\r\nd", [b"a", b"b", b"c", b"d"]),
        ("\n--\n", b"a\r\n--\r\nb\n--\rc", [b"a", b"b", b"c"]),
        ("\\n", b"a\nb\\nc", [b"a\nb", b"c"]),
    ],
)
def test_line_ends_of_a_separator_stand_for_all_kinds(between: str, data: bytes, parts: list[bytes]):
    """One line end CRLF is never two."""
    assert separator(between).split(data) == parts
