import slow
from hypothesis import given
from hypothesis import strategies as st
from texts import ANY_TEXT, documents, sample

from gristmill.cleaning.fineweb import Fineweb

FEW_LINES = st.lists(
    st.lists(st.sampled_from(["a.", "a", "a.)", "a longer line", "", "b c"]), max_size=20).map("\n".join)
)


def judge(text: str, rule: Fineweb) -> str | None:
    lines, newlines, share = slow.lines(text), text.count("\n"), slow.share
    repeated = sum(len(line) for place, line in enumerate(lines) if line in lines[:place])
    verdicts = {
        "no_text": not lines,
        "few_line_ends": share(sum(slow.ended(line, rule.terminal) for line in lines), len(lines)) < rule.min_line_ends,
        "short_lines": share(sum(len(line) <= rule.short_line for line in lines), len(lines)) > rule.max_short_lines,
        "duplicate_characters": share(repeated, len(text) - newlines) > rule.max_duplicate_characters,
        "newlines": share(newlines, len(slow.words(text))) > rule.max_newlines,
    }
    return next((reason for reason, failed in verdicts.items() if failed), None)


def test_real_and_odd_documents_match_the_slow_rule() -> None:
    """Menus and link lists kept, or articles dropped, when a share is taken of the wrong whole."""
    texts, rule = sample(), Fineweb()
    wanted = [judge(text, rule) for text in texts]
    assert rule.reasons(documents(texts)).to_pylist() == wanted
    assert len(set(wanted)) > 4


@given(FEW_LINES | st.lists(ANY_TEXT), st.floats(0, 1), st.floats(0, 1))
def test_any_text_matches_the_slow_rule(texts: list[str], low: float, high: float) -> None:
    rule = Fineweb(
        min_line_ends=low, max_short_lines=high, short_line=3, max_duplicate_characters=high, max_newlines=high
    )
    assert rule.reasons(documents(texts)).to_pylist() == [judge(text, rule) for text in texts]


def test_each_rule_drops_its_own_document() -> None:
    line = "This sentence is long enough to count as text, as it should."
    cases = {
        "": "no_text",
        line.replace(".", "") + "\n" + line.replace(".", "!!")[:-2]: "few_line_ends",
        "one.\ntwo.\nthree.\n" + line: "short_lines",
        f"{line}\n{line}": "duplicate_characters",
        "\n\n\n\n\n" + line: "newlines",
        line: None,
    }
    assert Fineweb().reasons(documents(list(cases))).to_pylist() == list(cases.values())
