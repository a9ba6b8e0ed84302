from collections import Counter

import pytest
import slow
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, documents, sample

from gristmill.cleaning.gopher_repetition import GopherRepetition

STRICT = {"max_duplicate_lines": 0.1, "max_top": {2: 0.05, 4: 0.03}, "max_duplicate": {5: 0.1, 7: 0.08, 10: 0.05}}
FEW_WORDS = st.lists(st.lists(st.sampled_from(["a ", "b ", "cc  ", "\u4e2d", "\n", "\n\n"]), max_size=40).map("".join))


def later(pieces: list[str]) -> list[str]:
    return [piece for place, piece in enumerate(pieces) if piece in pieces[:place]]


def ngrams(text: str, n: int) -> list[tuple[str, ...]]:
    words = slow.words(text)
    return [tuple(words[place : place + n]) for place in range(len(words) - n + 1)]


def top_characters(text: str, n: int) -> int:
    """``Counter.most_common`` gives the first of equals."""
    found = Counter(ngrams(text, n)).most_common(1)
    if not found or found[0][1] < 2:
        return 0
    spans = slow.word_spans(text)
    places = [place for place, ngram in enumerate(ngrams(text, n)) if ngram == found[0][0]]
    return sum(spans[place + n - 1][1] - spans[place][0] for place in places)


def duplicate_characters(text: str, n: int) -> int:
    seen: set[tuple[str, ...]] = set()
    covered: set[int] = set()
    for place, ngram in enumerate(ngrams(text, n)):
        if ngram in seen:
            covered |= set(range(place, place + n))
        seen.add(ngram)
    words = slow.words(text)
    return sum(len(words[place]) for place in covered)


def judge(text: str, rule: GopherRepetition) -> str | None:
    lines, paragraphs, size = slow.lines(text), slow.paragraphs(text), len(text)
    checks = [
        ("duplicate_paragraphs", len(later(paragraphs)), len(paragraphs), rule.max_duplicate_paragraphs),
        (
            "duplicate_paragraph_characters",
            sum(map(len, later(paragraphs))),
            size,
            rule.max_duplicate_paragraph_characters,
        ),
        ("duplicate_lines", len(later(lines)), len(lines), rule.max_duplicate_lines),
        ("duplicate_line_characters", sum(map(len, later(lines))), size, rule.max_duplicate_line_characters),
    ]
    checks += [(f"top_{n}_gram", top_characters(text, n), size, most) for n, most in rule.max_top.items()]
    checks += [
        (f"duplicate_{n}_grams", duplicate_characters(text, n), size, most) for n, most in rule.max_duplicate.items()
    ]
    return next((reason for reason, part, whole, most in checks if slow.share(part, whole) > most), None)


@pytest.mark.parametrize("settings", [{}, STRICT])
def test_real_and_odd_documents_match_the_slow_rule(settings: dict[str, object]) -> None:
    """An n-gram run over the edge of a document, or a lost one, changes what counts as repetitive."""
    texts = sample(4_000)
    rule = GopherRepetition.parse(settings)
    wanted = [judge(text, rule) for text in texts]
    assert rule.reasons(documents(texts)).to_pylist() == wanted
    assert len(texts) > 300
    assert len(set(wanted)) > 4


@given(FEW_WORDS | st.lists(ANY_TEXT), st.floats(0, 1), st.floats(0, 1))
def test_any_text_matches_the_slow_rule(texts: list[str], lines: float, runs: float) -> None:
    rule = GopherRepetition(
        max_duplicate_lines=lines,
        max_duplicate_paragraphs=lines,
        max_duplicate_line_characters=lines,
        max_duplicate_paragraph_characters=lines,
        max_top={2: runs, 3: runs / 2, 4: runs / 3},
        max_duplicate={3: runs / 2, 5: runs / 3, 9: runs / 4},
    )
    assert rule.reasons(documents(texts)).to_pylist() == [judge(text, rule) for text in texts]


def test_no_run_is_longer_than_its_document() -> None:
    """Two documents that say the same are no repetition within either: that is deduplication's work."""
    text = "one two three four five six seven eight nine ten eleven twelve"
    assert GopherRepetition().reasons(documents([text] * 3)).to_pylist() == [None] * 3


def test_settings_survive_json() -> None:
    rule = GopherRepetition(max_top={2: 0.5})
    assert GopherRepetition.model_validate_json(rule.model_dump_json()) == rule


def test_each_occurrence_of_the_top_run_counts_by_what_it_spans() -> None:
    """A first occurrence that a line is wrapped in with an indent made a document repetitive by itself."""
    rest = " ".join(f"w{number}" for number in range(50))
    text = f"big{' ' * 60}table {rest} big table " + " ".join(f"v{number}" for number in range(50))
    assert 2 * 68 / len(text) > 0.2
    assert GopherRepetition().reasons(documents([text])).to_pylist() == [None]
