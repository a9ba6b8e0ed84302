"""``--explain``: the rules in force for every source, each value with where it comes from."""

import json
from collections.abc import Iterator
from typing import Any

from gristmill.cleaning.base import Cleaner, Filter
from gristmill.config import PrepareConfig


def explain(config: PrepareConfig) -> Iterator[str]:
    """Lines for people. ``config`` as it was read: one that was stored since holds every value as if it were set."""
    for source in config.sources:
        rules = config.rules(source.label)
        yield f"{source.label}: kind {source.kind()}, genre {source.genre}, {len(rules)} rules and filters"
        for number, cleaner in enumerate(rules, 1):
            what = "filter" if isinstance(cleaner, Filter) else "rule"
            yield f"  {number}. {cleaner.kind()} ({what}): {(cleaner.__doc__ or '').splitlines()[0]}"
            yield from _values(cleaner, source.genre)
        yield ""
    yield "After these every source loses its blank documents, those without anything but white space."


def _values(cleaner: Cleaner, genre: str) -> Iterator[str]:
    settings = cleaner.settings()
    names = [name for name in settings if name != "kind"]
    width = max(map(len, names), default=0)
    for name in names:
        found = f"{json.dumps(settings[name])}  {_origin(cleaner, name, genre)}"
        others = {other: preset[name] for other, preset in cleaner.genres.items() if name in preset and other != genre}
        presets = ", ".join(f"{other} {json.dumps(value)}" for other, value in others.items())
        yield f"       {name:{width}}  {found}{f'; other genres: {presets}' if presets else ''}"


def _origin(cleaner: Cleaner, name: str, genre: str) -> str:
    if name in cleaner.model_fields_set:
        return "configuration"
    preset: dict[str, Any] = cleaner.genres.get(genre, {})
    return f"genre {genre}" if name in preset else "default"
