import pytest
from hypothesis import given
from hypothesis import strategies as st
from texts import documents

from gristmill.cleaning.numeric import Numeric
from gristmill.errors import ConfigError


def reasons(rule: Numeric, values: list[str | None]) -> list[str | None]:
    return rule.reasons(documents(["text"] * len(values), score=values)).to_pylist()


def test_every_kind_of_value_has_its_reason() -> None:
    """A score that cannot be read must not pass as if it were good, nor stop the run."""
    cases = {
        "0.5": None,
        " 1 ": None,
        "+0.75": None,
        "5e-1": None,
        ".5": None,
        "1.": None,
        "0.49": "number_too_low",
        "-3": "number_too_low",
        "1.01": "number_too_high",
        "1e999": "number_too_high",
        "": "not_a_number",
        "n/a": "not_a_number",
        "nan": "not_a_number",
        "inf": "not_a_number",
        "1,5": "not_a_number",
        "\u0661": "not_a_number",
        None: "missing_number",
    }
    assert reasons(Numeric(column="score", min=0.5, max=1), list(cases)) == list(cases.values())


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)), st.floats(-10, 10))
def test_any_number_is_compared_exactly(values: list[float], low: float) -> None:
    wanted = ["number_too_low" if value < low else None for value in values]
    assert reasons(Numeric(column="score", min=low), [repr(value) for value in values]) == wanted


def test_a_missing_column_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no column 'score'.*language"):
        Numeric(column="score").reasons(documents(["a"], language=["en"]))
    with pytest.raises(ConfigError, match="below min"):
        Numeric.parse({"column": "score", "min": 2, "max": 1})
