import pyarrow as pa
import pyarrow.compute as pc
import pytest
from ftfy.badness import is_bad
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, real_texts, sample, strings

from gristmill.cleaning.mojibake import SUSPICIOUS, Mojibake

GOOD = [
    "The caf\u00e9 \u2014 \u201cChez Zo\u00eb\u201d \u2014 opens at 9.",
    "H\u00e4user, gr\u00fc\u00dfen, \u00fcber",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440",
    "\u4e2d\u6587\u53e5\u5b50\u3002",
]


def rewrite(texts: list[str]) -> list[str]:
    found: pa.StringArray = Mojibake().rewrite(strings(texts))
    found.validate(full=True)
    return found.to_pylist()


@pytest.mark.parametrize("text", GOOD)
@pytest.mark.parametrize("table", ["latin-1", "cp437"])
def test_text_read_by_the_wrong_table_is_repaired(text: str, table: str) -> None:
    """A model that learns two strange characters for every accented letter writes them too."""
    wrong = text.encode().decode(table)
    assert wrong != text
    assert rewrite([wrong]) == [text]


def test_what_was_read_wrong_twice_is_repaired() -> None:
    assert rewrite(["caf\u00e9s".encode().decode("latin-1").encode().decode("latin-1")]) == ["caf\u00e9s"]


def test_each_line_is_repaired_by_itself() -> None:
    """One page that joins right and wrong text cannot be decoded as a whole."""
    wrong = GOOD[1].encode().decode("latin-1")
    text = "\n".join([GOOD[3], wrong, "  plain\t", "", GOOD[0]])
    assert rewrite([text]) == [text.replace(wrong, GOOD[1])]


def test_a_repair_that_leaves_mojibake_is_not_taken() -> None:
    """Korean in EUC-KR read as Latin-1 was never UTF-8: half a repair would hide what it was."""
    korean = "\ub137\uc6e8\uc5b4\uc5d0\uc11c \uc544\ud30c\uce58 \uc0ac\uc6a9\ud558\uae30"
    korean = korean.encode("euc-kr").decode("latin-1")
    assert rewrite([korean]) == [korean]


def test_right_text_of_all_languages_stays_as_it_is() -> None:
    texts = [*GOOD, *(text for text in sample() if not is_bad(text))]
    assert rewrite(texts) == texts
    assert len(texts) > 200


@given(st.lists(ANY_TEXT | st.text(st.characters(min_codepoint=0x80, max_codepoint=0x17F))))
def test_the_quick_look_misses_nothing(texts: list[str]) -> None:
    """Documents that Arrow passes over are never shown to the detector."""
    seen = pc.match_substring_regex(strings(texts), SUSPICIOUS).to_pylist()
    for text, found in zip(texts, seen, strict=True):
        assert found or not any(map(is_bad, text.split("\n")))
    rewrite(texts)


def test_the_quick_look_passes_over_most_real_documents() -> None:
    """The detector's own pattern takes seconds for what Arrow looks through in a hundredth."""
    seen = pc.match_substring_regex(strings(real_texts(1000)), SUSPICIOUS)
    assert pc.sum(seen).as_py() < 20
