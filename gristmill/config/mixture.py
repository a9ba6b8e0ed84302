"""The arithmetic of mixing: what a mixture may say, and how many tokens of each source it asks for."""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from gristmill.errors import ConfigError, InputError, alternatives

TOLERANCE = Fraction(1, 10**6)
"""Shares may miss 1 by this much, as rounded thirds do; they are scaled to 1."""


def check_mixture(
    mix: Mapping[str, float], total: int | None, repetition: float | Mapping[str, float], sources: Iterable[str]
) -> None:
    """Raises ``ConfigError`` where the shares leave a source out, name one that is not there or do not add up."""
    labels = list(sources)
    if not mix:
        if total is not None or repetition != 1.0:
            raise ConfigError("total_tokens and max_repetition belong to mix; give the share of each source in mix")
        return
    missing = [label for label in labels if label not in mix]
    if missing:
        raise ConfigError(f"mix: no share for {', '.join(missing)}; give every source one (0 for none of its tokens)")
    _check_known("mix", mix, labels)
    if isinstance(repetition, Mapping):
        _check_known("max_repetition", repetition, labels)
    whole = sum(map(_exact, mix.values()), Fraction(0))
    if abs(whole - 1) > TOLERANCE:
        raise ConfigError(f"mix: the shares add up to {float(whole):.9g}; they must add up to 1, within 1e-6")


def _check_known(key: str, named: Iterable[str], labels: list[str]) -> None:
    unknown = [label for label in named if label not in labels]
    if unknown:
        raise ConfigError(f"{key}: no source {', '.join(unknown)}; {alternatives(unknown[0], labels)}")


def capacities(supply: Mapping[str, int], repetition: float | Mapping[str, float]) -> dict[str, int]:
    """The most tokens that may be published of each source; one that ``repetition`` does not name is not repeated."""
    named = repetition if isinstance(repetition, Mapping) else dict.fromkeys(supply, repetition)
    return {label: math.floor(tokens * _exact(named.get(label, 1.0))) for label, tokens in supply.items()}


def targets(
    mix: Mapping[str, float], total: int | None, capacity: Mapping[str, int], generation: int
) -> dict[str, int]:
    """Tokens wanted of each source. In a later generation the shares of sources of which nothing arrived fall to the
    others.

    Raises ``InputError`` when a source has none in the first generation, or when ``total`` is more than there is.
    """
    shares = {label: _exact(share) for label, share in mix.items() if share}
    empty = [label for label in shares if not capacity.get(label)]
    if empty and generation == 1:
        raise InputError(f"mix: nothing to train on of {', '.join(empty)}; give it documents, or a share of 0", "limit")
    there = {label: share for label, share in shares.items() if label not in empty}
    whole = sum(there.values(), Fraction(0))
    found = dict.fromkeys(mix, 0)
    if not there:
        return found
    scarcest = min(there, key=lambda label: capacity[label] * whole / there[label])
    possible = math.floor(capacity[scarcest] * whole / there[scarcest])
    if total is not None and total > possible:
        raise InputError(
            f"mix: total_tokens {total}: {scarcest} can give {capacity[scarcest]} tokens, its share takes "
            f"{math.ceil(total * there[scarcest] / whole)}; at most {possible} in all: lower total_tokens, raise "
            "max_repetition, or give more of it",
            "limit",
        )
    wanted = possible if total is None else total
    return found | {label: min(round(wanted * there[label] / whole), capacity[label]) for label in there}


def _exact(number: float) -> Fraction:
    """The decimal number that was written."""
    return Fraction(str(number))
