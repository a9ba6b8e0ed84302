import pytest
import slow
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, documents, sample

from gristmill.cleaning.gopher_quality import BULLETS, GopherQuality
from gristmill.errors import ConfigError

GENTLE = {"min_words": 1, "min_stop_words": 1, "max_word_length": 6, "max_symbols_per_word": 0.01, "max_words": 5000}


def judge(text: str, rule: GopherQuality) -> str | None:
    words, lines, share = slow.words(text), slow.lines(text), slow.share
    proper = [word for word in words if any(char.isalnum() for char in word)]
    spaced = [word for word in proper if not any(slow.is_solo(char) for char in word)]
    length = share(sum(map(len, spaced)), len(spaced))
    judged = proper and 2 * len(spaced) >= len(proper)
    ellipses = text.count("...") + text.count("\u2026")
    lettered = [word for word in words if any(char.isalpha() for char in word)]
    verdicts = {
        "too_few_words": len(proper) < rule.min_words,
        "too_many_words": len(proper) > rule.max_words,
        "short_words": judged and length < rule.min_word_length,
        "long_words": judged and length > rule.max_word_length,
        "many_hashes": share(text.count("#"), len(words)) > rule.max_symbols_per_word,
        "many_ellipses": share(ellipses, len(words)) > rule.max_symbols_per_word,
        "bullet_lines": share(sum(line.startswith(BULLETS) for line in lines), len(lines)) > rule.max_bullet_lines,
        "ellipsis_lines": share(sum(line.endswith(("...", "\u2026")) for line in lines), len(lines))
        > rule.max_ellipsis_lines,
        "few_letters": share(len(lettered), len(words)) < rule.min_words_with_letter,
        "few_stop_words": len(set(rule.stop_words) & set(words)) < rule.min_stop_words,
    }
    return next((reason for reason, failed in verdicts.items() if failed), None)


@pytest.mark.parametrize("settings", [{}, GENTLE, {**GENTLE, "max_word_length": 100, "max_bullet_lines": 0.05}])
def test_real_and_odd_documents_match_the_slow_rule(settings: dict[str, float]) -> None:
    """A count that drifts from the paper's would silently change which pages a corpus is made of."""
    texts, rule = sample(), GopherQuality.parse(settings)
    wanted = [judge(text, rule) for text in texts]
    assert rule.reasons(documents(texts)).to_pylist() == wanted
    assert len(set(wanted)) > 5


@given(st.lists(ANY_TEXT), st.integers(0, 4), st.floats(0, 1), st.sampled_from([0, 1]))
def test_any_text_matches_the_slow_rule(texts: list[str], low: int, share: float, stop_words: int) -> None:
    rule = GopherQuality(
        min_words=low,
        min_word_length=low / 2,
        max_symbols_per_word=share,
        max_bullet_lines=share,
        max_ellipsis_lines=share,
        min_words_with_letter=share,
        min_stop_words=stop_words,
        stop_words=("word", "the", "\u4e2d"),
    )
    assert rule.reasons(documents(texts)).to_pylist() == [judge(text, rule) for text in texts]


def test_each_rule_drops_its_own_document() -> None:
    text = "The river was low that year, and the boats had to wait for rain. " * 5
    cases = {
        text: None,
        "few words": "too_few_words",
        text.replace(" ", " of a b c d e f g "): "short_words",
        text.replace("r", "r" * 40): "long_words",
        text.replace(",", " # # # #"): "many_hashes",
        text.replace(".", " ... ... \u2026"): "many_ellipses",
        "\n".join(f"- {line}" for line in text.split(". ")): "bullet_lines",
        text.replace("rain. ", "rain...\n"): "ellipsis_lines",
        text.replace(" ", " 123456 "): "few_letters",
        text.replace(" that ", " ").replace(" and ", " ").replace(" to ", " ").replace(" the ", " "): "few_stop_words",
    }
    assert GopherQuality().reasons(documents(list(cases))).to_pylist() == list(cases.values())


def test_a_chinese_page_passes_with_chinese_stop_words() -> None:
    """Without words of one ideograph it would be one long word; with their length judged, all too short."""
    text = "\u8fd9\u662f\u6211\u4eec\u7684\u7b2c\u4e00\u672c\u4e66\uff0c\u5f88\u597d\u3002" * 8
    rule = GopherQuality(stop_words=("\u7684", "\u662f", "\u4e86"))
    assert rule.reasons(documents([text])).to_pylist() == [None]


def test_crossed_bounds_are_refused() -> None:
    with pytest.raises(ConfigError, match="above its maximum"):
        GopherQuality.parse({"min_words": 9, "max_words": 8})
    with pytest.raises(ConfigError, match="min_stop_words 2"):
        GopherQuality.parse({"stop_words": ["a"]})
