import time
import unicodedata

import pytest
from data import odd_texts
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, real_texts, strings

from gristmill.cleaning.unicode import Unicode
from gristmill.errors import ConfigError

FORMS = ["NFC", "NFD", "NFKC", "NFKD"]


def known(text: str) -> bool:
    """Arrow's Unicode tables are newer than those of Python: only characters that both know can be compared."""
    return all(unicodedata.category(char) != "Cn" for char in text)


@pytest.mark.parametrize("form", FORMS)
def test_real_documents_come_out_as_python_normalises_them(form: str) -> None:
    """A skipped document that did need the form would leave two spellings of a word in the corpus."""
    texts = [text for text in (*real_texts(), *odd_texts()) if known(text)]
    wanted = [unicodedata.normalize(form, text) for text in texts]
    assert Unicode(form=form).rewrite(strings(texts)).to_pylist() == wanted
    assert wanted != texts
    assert len(texts) > 900


@pytest.mark.parametrize("form", FORMS)
def test_every_character_that_python_would_change_is_seen(form: str) -> None:
    """The shortcut by byte value must not pass over a character that the form changes."""
    assigned = [chr(code) for code in range(0x20, 0x30000) if unicodedata.category(chr(code)) not in ("Cs", "Cn")]
    changed = [text for text in assigned if unicodedata.normalize(form, text) != text]
    rewritten = Unicode(form=form).rewrite(strings(changed)).to_pylist()
    assert len(changed) > 1000
    assert rewritten == [unicodedata.normalize(form, text) for text in changed]


def test_every_letter_in_pieces_is_put_together() -> None:
    """The shortcut must not pass over a mark that NFC joins to the letter before it."""
    letters = [chr(code) for code in range(0xC0, 0x30000) if unicodedata.decomposition(chr(code))]
    pieces = [unicodedata.normalize("NFD", letter) for letter in letters]
    assert Unicode().rewrite(strings(pieces)).to_pylist() == [unicodedata.normalize("NFC", text) for text in pieces]


@given(st.lists(ANY_TEXT), st.sampled_from(FORMS))
def test_twice_is_once(texts: list[str], form: str) -> None:
    rule = Unicode(form=form)
    once = rule.rewrite(strings(texts))
    assert once.null_count == 0
    assert rule.rewrite(once).equals(once)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ConfigError, match="NFX"):
        Unicode.parse({"form": "NFX"})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("marks", ["\u0301\u0323", "\u0344\u0323", "\uff9e\u0323", "\u0323\u0301a\u0316"])
def test_a_long_run_of_marks_is_exact_and_quick(form: str, marks: str) -> None:
    """The normaliser sorts marks by exchanging neighbours: two megabytes of them kept a worker for a quarter of an
    hour."""
    text = "x\uac00\ufb01e" + marks * 200_000
    start = time.process_time()
    found = Unicode(form=form).rewrite(strings(["plain", text, "e\u0301"])).to_pylist()
    assert time.process_time() - start < 5
    short = text[:2000]
    assert Unicode(form=form).rewrite(strings([short])).to_pylist() == [unicodedata.normalize(form, short)]
    assert len(found[1]) > 200_000
    assert (found[0], found[2]) == ("plain", unicodedata.normalize(form, "e\u0301"))


@given(
    st.text(st.sampled_from(["a", "\u0301", "\u0323", "\u0345", "\u0f73", "\uff9e", "\u1161", "\u0e38"]), max_size=300)
)
def test_runs_of_marks_come_out_as_python_normalises_them(text: str) -> None:
    """Sorted before or by the normaliser, a run must be the same: also one that two documents share."""
    doubled = "\u0301\u0323" * 40 + text
    for form in FORMS:
        wanted = [unicodedata.normalize(form, each) for each in (text, doubled, "")]
        assert Unicode(form=form).rewrite(strings([text, doubled, ""])).to_pylist() == wanted
