"""The written-down properties against the Unicode tables of the ``regex`` package."""

import unicodedata

import pytest
import regex
from texts import documents, strings

from gristmill.cleaning.c4 import C4
from gristmill.cleaning.c4_lines import C4Lines
from gristmill.cleaning.fineweb import Fineweb
from gristmill.text.sentence_ends import CLOSERS, ENDS, FURTHER, QUOTES, SENTENCE_TERMINAL, SPACED

EVERY = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)

LINES = {
    "Arabic": "\u0643\u0644 \u0625\u0646\u0633\u0627\u0646 \u062d\u0631\u061f",
    "Urdu": "\u06cc\u06c1 \u0627\u06cc\u06a9 \u062c\u0645\u0644\u06c1 \u06c1\u06d2\u06d4",
    "Armenian": "\u0532\u0578\u056c\u0578\u0580 \u0574\u0561\u0580\u0564\u056b\u056f \u0561\u0566\u0561\u057f\u0589",
    "Bengali": "\u09ae\u09be \u09a8\u09c1\u09b7 \u09b8\u09cd\u09ac\u0964",
    "Devanagari": "\u0938\u092d\u0940 \u092e\u0928\u0941 \u0939\u0948\u0902\u0964",
    "Ethiopic": "\u12e8\u1230\u12cd \u120d\u1305 \u1290\u133b \u1290\u12cd\u1362",
    "Ethiopic with marks between words": "\u12e8\u1230\u12cd\u1361\u120d\u1305\u1361\u1290\u133b\u1362",
    "Han": "\u4eba\u4eba\u751f\u800c\u81ea\u7531\u3002",
    "Hebrew verse": "\u05d1\u05e8\u05d0 \u05d0\u05dc\u05d4\u05d9\u05dd \u05d0\u05ea\u05c3",
    "Khmer": "\u1798\u1793\u17bb\u179f\u17d2\u179f \u1791\u17b6\u17c6\u1784 \u17a2\u179f\u17cb\u17d4",
    "Mongolian": "\u182c\u1826\u182e \u182a\u1826\u182c\u1826 \u1821\u1837\u182c\u1821\u1803",
    "Myanmar": "\u101c\u1030 \u1010\u102d\u102f\u1004\u103a\u1038 \u101e\u100a\u103a\u104b",
    "NKo": "\u07db\u07cf\u07da \u07d3\u07ca \u07d0\u07ca\u07f9",
    "Ol Chiki": "\u1c60\u1c61 \u1c62\u1c63 \u1c64\u1c65\u1c7e",
    "Syriac": "\u071f\u0720 \u0712\u072a \u0710\u0722\u072b\u0710\u0702",
    "Tamil danda": "\u0b8e\u0bb2\u0bcd \u0bae\u0ba9\u0bbf \u0b89\u0bb0\u0964",
    "Tibetan": "\u0f40\u0f0b\u0f41\u0f0b\u0f42\u0f0b\u0f44\u0f0d",
    "Tibetan with two shads": "\u0f40\u0f0b\u0f41\u0f0b\u0f42\u0f0b\u0f44\u0f0d \u0f0d",
    "Vai": "\ua500\ua501 \ua502\ua503 \ua504\ua60e",  # codespell:ignore vai
    "closed by a bracket": "(They are equal in dignity.)",
    "closed by quotes": "\u00abThey are \u2018all equal.\u2019\u00a0\u00bb",
    "German quotes": "\u201eSie sind alle gleich.\u201c",  # codespell:ignore alle
    "corner brackets": "\u4eba\u4eba\u300c\u81ea\u7531\uff01\u300d",
}


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        (SENTENCE_TERMINAL, r"\p{Sentence_Terminal}"),
        (CLOSERS, r"[\p{Pe}\p{Pi}\p{Pf}\"'\uff02\uff07]"),
        (QUOTES, r"[\p{Quotation_Mark}--\p{Ps}]"),
    ],
)
def test_the_tables_are_those_of_unicode(written: str, pattern: str) -> None:
    """A mark that is mistyped or that a new version of Unicode adds: lines of that script would go as unfinished."""
    assert sorted(written) == regex.findall(pattern, EVERY, regex.V1)


def test_further_ends_are_punctuation_that_unicode_has_elsewhere() -> None:
    assert not set(FURTHER) & set(SENTENCE_TERMINAL)
    others = [mark for mark in FURTHER if not regex.match(r"\p{Terminal_Punctuation}", mark)]
    assert [unicodedata.name(mark) for mark in others] == [
        "TIBETAN MARK GTER TSHEG",
        "GEORGIAN PARAGRAPH SEPARATOR",
        "BUGINESE PALLAWA",
        "BUGINESE END OF SECTION",
        "COPTIC FULL STOP",
        "REJANG SECTION MARK",
        "TAMIL PUNCTUATION END OF TEXT",
    ]


def test_every_script_with_marks_of_its_own_has_an_end() -> None:
    """``c4_lines`` removed every line of Armenian, Syriac, Mongolian and Tibetan."""
    owners = {"Arab", "Armn", "Deva", "Ethi", "Hebr", "Khmr", "Mong", "Mymr", "Nkoo", "Olck", "Syrc", "Tibt"}
    found = {script for mark in ENDS for script in owners if regex.match(rf"\p{{scx={script}}}", mark)}
    assert found == owners


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_of_any_script_stays(line: str) -> None:
    """Whole languages were lost: ``c4_lines`` took every line, then ``fineweb`` every document."""
    assert C4Lines().rewrite(strings([line])).to_pylist() == [line]
    assert Fineweb(max_short_lines=1).reasons(documents([line])).to_pylist() == [None]


@pytest.mark.parametrize("mark", [mark for mark in ENDS if mark not in SPACED])
def test_every_mark_ends_a_sentence_in_a_line(mark: str) -> None:
    lines = [f"ab{mark} cd{mark}\u00bb ef{mark} {mark}", f"ab{mark}cd{mark})ef{mark}{mark}"]
    for few, reason in ((3, None), (4, "too_few_sentences")):
        assert C4(min_sentences=few).reasons(documents(lines)).to_pylist() == [reason, reason]


def test_lines_that_end_in_no_mark_go() -> None:
    lines = ["Terms and (conditions)", "a b c,", "one two three \u2022", "a b c:", "\u4eba\u4eba\u751f\u3001"]
    assert C4Lines().rewrite(strings(lines)).to_pylist() == [""] * len(lines)
    assert C4Lines(terminal=",").rewrite(strings(lines)).to_pylist() == ["", "a b c,", "", "", ""]


def test_own_marks_are_taken_literally() -> None:
    """Somebody who gives datatrove's marks wants no quote or bracket looked past."""
    lines = ["a b c.", 'a b c."', "a b c)"]
    assert C4Lines(terminal=".").rewrite(strings(lines)).to_pylist() == ["a b c.", "", ""]
    assert Fineweb(terminal=".", max_short_lines=1).reasons(documents(lines)).to_pylist() == [
        None,
        "few_line_ends",
        "few_line_ends",
    ]
