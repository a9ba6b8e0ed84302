"""Which language a text is taken for."""

import subprocess
import sys

from gristmill.languages import LANGUAGES, SHOWN, UNSURE, language, middle

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
    """It takes 0.5 s and 100 MB in each of many workers that never ask for a language."""
    code = "import gristmill.stages.clean, gristmill.languages as found; print(found.identifier.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
