"""What a mixture may say, and how many tokens it asks for."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.config.mixture import capacities, check_mixture, targets
from gristmill.errors import ConfigError, InputError

COUNTS = st.integers(1, 10**12)


@pytest.mark.parametrize(
    ("mix", "total", "repetition", "message"),
    [
        ({"web": 1.0}, None, 1.0, "mix: no share for books, code; give every source one"),
        ({"web": 0.5, "books": 0.3, "code": 0.2, "cod": 0.0}, None, 1.0, "mix: no source cod; there are: web, books"),
        ({"web": 0.5, "books": 0.3, "code": 0.199}, None, 1.0, "the shares add up to 0.999; they must add up to 1"),
        ({"web": 0.5, "books": 0.3, "code": 0.2}, None, {"book": 2.0}, "max_repetition: no source book; there are"),
        ({}, 1000, 1.0, "total_tokens and max_repetition belong to mix"),
        ({}, None, {"web": 2.0}, "total_tokens and max_repetition belong to mix"),
    ],
)
def test_a_mixture_that_does_not_fit_the_sources_is_refused(
    mix: dict[str, float], total: int | None, repetition: Any, message: str
) -> None:
    """A share that is forgotten or misspelt would silently leave a source out."""
    with pytest.raises(ConfigError, match=message):
        check_mixture(mix, total, repetition, ["web", "books", "code"])


def test_shares_that_were_rounded_are_accepted() -> None:
    check_mixture({"a": 0.3333333, "b": 0.3333333, "c": 0.3333333}, None, 1.0, ["a", "b", "c"])
    check_mixture({"a": 0.1, "b": 0.2, "c": 0.7}, None, 1.0, ["a", "b", "c"])


def test_the_scarcest_source_sets_the_total() -> None:
    most = capacities({"web": 1000, "books": 50}, {"books": 2.0})
    assert most == {"web": 1000, "books": 100}
    assert targets({"web": 0.75, "books": 0.25}, None, most, 1) == {"web": 300, "books": 100}


def test_shares_are_the_decimal_numbers_that_were_written() -> None:
    """In binary 7 / 0.07 is less than 100: a total that fits exactly would be refused."""
    for share, tokens in ((0.18, 18), (0.07, 7), (0.29, 29)):
        found = targets({"a": share, "b": round(1 - share, 2)}, 100, {"a": tokens, "b": 1000}, 1)
        assert found["a"] == tokens


def test_a_total_that_the_sources_cannot_give_is_refused_with_what_they_can() -> None:
    with pytest.raises(InputError, match=r"total_tokens 401: books can give 100 tokens.*at most 400 in all"):
        targets({"web": 0.75, "books": 0.25}, 401, {"web": 1000, "books": 100}, 1)


def test_a_source_of_which_nothing_is_there_stops_the_first_generation_only() -> None:
    """Later ones get what the night brought: books that did not change must not hold back the news."""
    mix = {"web": 0.6, "news": 0.2, "books": 0.2, "old": 0.0}
    with pytest.raises(InputError, match="nothing to train on of books"):
        targets(mix, None, {"web": 900, "news": 900}, 1)
    assert targets(mix, None, {"web": 900, "news": 900}, 2) == {"web": 900, "news": 300, "books": 0, "old": 0}
    assert targets(mix, None, {"old": 5}, 2) == dict.fromkeys(mix, 0)


@given(st.dictionaries(st.sampled_from("abcd"), st.tuples(COUNTS, st.integers(1, 99)), min_size=1), st.data())
def test_targets_keep_to_the_shares_and_to_what_is_there(table: dict[str, tuple[int, int]], data: Any) -> None:
    whole = sum(share for _, share in table.values())
    mix = {label: share / whole for label, (_, share) in table.items()}
    repetition = data.draw(st.sampled_from([0.5, 1.0, 2.5, 7.0]))
    most = capacities({label: tokens for label, (tokens, _) in table.items()}, repetition)
    if min(most.values()) == 0:
        return
    found = targets(mix, None, most, 1)
    total = sum(found.values())
    for label, count in found.items():
        assert count <= most[label] <= table[label][0] * repetition
        assert math.isclose(count, mix[label] * total, rel_tol=1e-9, abs_tol=len(mix) + 1)
    assert any(most[label] - count <= 1 + 1 / mix[label] for label, count in found.items())  # no more was possible
