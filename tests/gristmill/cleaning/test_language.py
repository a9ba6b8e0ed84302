import pytest
from hypothesis import given
from texts import ANY_TEXT, documents

from gristmill.cleaning.language import Language
from gristmill.errors import ConfigError
from gristmill.text.languages import LANGUAGES, identifier

TEXTS = {
    "en": "The river runs slowly past the old houses, and in the evening the children come down to swim in it.",
    "de": "Der Fluss zieht langsam an den alten H\u00e4usern vorbei, und am Abend kommen die Kinder zum Baden.",
    "fr": ("La rivi\u00e8re passe lentement devant les vieilles maisons, et le soir les enfants viennent s'y baigner."),
    "es": ("El r\u00edo pasa despacio junto a las casas viejas, y por la tarde los ni\u00f1os bajan a ba\u00f1arse."),
    "pl": (
        "Rzeka p\u0142ynie powoli obok starych dom\u00f3w, a wieczorem dzieci przychodz\u0105 si\u0119 w niej"
        " k\u0105pa\u0107."
    ),
    "ru": (
        "\u0420\u0435\u043a\u0430 \u043c\u0435\u0434\u043b\u0435\u043d\u043d\u043e \u0442\u0435\u0447\u0451"
        "\u0442 \u043c\u0438\u043c\u043e \u0441\u0442\u0430\u0440\u044b\u0445 \u0434\u043e\u043c\u043e\u0432."
    ),
    "zh": (
        "\u8fd9\u6761\u6cb3\u6162\u6162\u5730\u6d41\u8fc7\u8001\u623f\u5b50\uff0c\u508d\u665a\u5b69\u5b50"
        "\u4eec\u6765\u6e38\u6cf3\u3002\u6211\u4eec\u90fd\u5f88\u559c\u6b22\u8fd9\u4e2a\u5730\u65b9\u3002"
    ),
    "ja": (
        "\u3053\u306e\u5ddd\u306f\u53e4\u3044\u5bb6\u306e\u305d\u3070\u3092\u3086\u3063\u304f\u308a\u6d41"
        "\u308c\u3066\u3044\u307e\u3059\u3002\u5b50\u4f9b\u304c\u6cf3\u304e\u306b\u6765\u307e\u3059\u3002"
    ),
    "ko": (
        "\uac15\uc740 \uc624\ub798\ub41c \uc9d1\ub4e4 \uc606\uc744 \ucc9c\ucc9c\ud788 \ud750\ub974\uace0 "
        "\uc800\ub141\uc5d0\ub294 \uc544\uc774\ub4e4\uc774 \uc218\uc601\ud558\ub7ec \uc635\ub2c8\ub2e4."
    ),
}


def reasons(texts: list[str], rule: Language) -> list[str | None]:
    return rule.reasons(documents(texts)).to_pylist()


@pytest.mark.parametrize("language", TEXTS)
def test_only_the_languages_asked_for_stay(language: str) -> None:
    """A code of another standard, or a model with its labels shifted, would keep the wrong half of a corpus."""
    wanted = [None if code == language else "language" for code in TEXTS]
    assert reasons(list(TEXTS.values()), Language(languages=[language])) == wanted


def test_doubtful_documents_are_dropped_by_the_bound() -> None:
    doubtful = ["", "12 34 56", "ok ok"]
    assert reasons(doubtful, Language(languages=["en"])) == ["language"] * 3
    anything = Language(languages=sorted(LANGUAGES), min_confidence=0)
    assert reasons([*doubtful, *TEXTS.values()], anything) == [None] * (3 + len(TEXTS))


def test_a_long_document_is_judged_by_its_middle() -> None:
    """The English licence around a French book must not drop it; nor may a megabyte take a second."""
    book = TEXTS["en"] * 20 + TEXTS["fr"] * 200 + TEXTS["en"] * 20
    assert reasons([book], Language(languages=["fr"])) == [None]
    assert reasons([book], Language(languages=["en"])) == ["language"]


@given(ANY_TEXT)
def test_any_text_has_an_answer(text: str) -> None:
    assert reasons([text], Language(languages=["en"])) in ([None], ["language"])


def test_the_codes_are_those_of_the_model() -> None:
    """A code that the model never gives would drop every document of its source."""
    assert set(identifier().labels) == LANGUAGES


@pytest.mark.parametrize("languages", [["english"], ["eng"], ["EN"], []])
def test_an_unknown_language_is_refused_with_those_there_are(languages: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"en, eo, es|at least 1 item"):
        Language.parse({"languages": languages})
