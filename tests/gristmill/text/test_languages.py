"""Which language a text is taken for."""

import subprocess
import sys
from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from gristmill.storage import stores
from gristmill.text import languages
from gristmill.text.languages import LANGUAGES, SHOWN, UNSURE, identifier, language, middle

ENGLISH = "The river runs slowly past the old houses, and in the evening the children come down to swim in it. "
FRENCH = "La rivi\u00e8re passe lentement devant les maisons, et le soir les enfants viennent s'y baigner. "


def test_a_document_is_judged_by_its_middle() -> None:
    """A French book between two English licences is French."""
    assert language(ENGLISH * 20 + FRENCH * 100 + ENGLISH * 20) == "fr"


def test_what_is_not_sure_is_no_language() -> None:
    """Lists of names and numbers would count as rare languages, and fill a report with them."""
    assert UNSURE not in LANGUAGES
    assert [language(text) for text in ("", "12 34 56", "ok ok")] == [UNSURE] * 3


def test_the_middle_of_a_text() -> None:
    assert middle("abcdef", 2) == "cd"
    assert middle("abc", SHOWN) == "abc"
    assert middle("", 5) == ""


def test_the_model_is_not_loaded_before_it_is_used() -> None:
    """Many workers never ask for a language."""
    code = (
        "import gristmill.stages.ingest.clean, gristmill.text.languages as found; "
        "print(found.identifier.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_without_a_spool_there_is_an_identifier_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container without a home must not fail a run for a table of its report."""
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(stores.SPOOL, str(tmp_path / "file" / "spool"))
    identifier.cache_clear()
    try:
        assert language(FRENCH * 3) == "fr"
    finally:
        identifier.cache_clear()


def test_the_tables_on_disk_are_those_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that a full disk cut short would change which documents are kept."""
    monkeypatch.setenv(stores.SPOOL, str(tmp_path))
    packed = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    texts = [ENGLISH, FRENCH, "12 34", "\u6cb3\u6d41\u7ecf\u8fc7\u623f\u5b50\u3002" * 5, ""]
    identifier.cache_clear()
    try:
        assert [identifier().classify(text) for text in texts] == [packed.classify(text) for text in texts]
        (table,) = tmp_path.rglob("moves.npy")
        whole = table.read_bytes()
        table.unlink()
        table.write_bytes(whole[: len(whole) // 2])
        identifier.cache_clear()
        assert [identifier().classify(text) for text in texts] == [packed.classify(text) for text in texts]
        assert table.read_bytes() == whole
    finally:
        identifier.cache_clear()


@pytest.mark.parametrize("text", [ENGLISH * 30, FRENCH * 30, "\u6cb3\u6d41\u7ecf\u8fc7\u623f\u5b50\u3002" * 200])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", " \n  ", "\n\n", "\u2028"])
def test_a_text_is_the_same_however_it_is_wrapped(text: str, end: str) -> None:
    """The same page with CRLF, or wrapped for a mail, was of another language than on one line."""
    gap = "" if text[0] > "\u3000" else " "
    words = text.split() if gap else list(text)
    wrapped = gap.join(word + end if number % 9 == 8 else word for number, word in enumerate(words))
    assert middle(wrapped, SHOWN) == middle(text, SHOWN)
    assert middle(wrapped, 100_000) == text.strip()


def test_a_long_text_is_cut_into_words_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "one  two\n\n\nthree \t four" + " " * 40 + "five"
    for block in range(1, 12):
        monkeypatch.setattr(languages, "_BLOCK", block)
        assert middle(text, 100) == "one two three four five"
