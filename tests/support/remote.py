"""What a worker process makes of a configuration; apart from ``chores``, since it imports every room."""

import pickle
from typing import Any

from gristmill.cleaning.base import DocumentFilter
from gristmill.config import PrepareConfig


def in_force(config: PrepareConfig) -> dict[str, list[dict[str, Any]]]:
    """The settings of every rule, by source."""
    return {source.label: [rule.settings() for rule in config.rules(source.label)] for source in config.sources}


def reason(config: PrepareConfig, text: str) -> str | None:
    """Of the first common filter, a ``DocumentFilter``; pickled on the way, which validates nothing again."""
    found: DocumentFilter = pickle.loads(pickle.dumps(config.cleaning[0]))
    return found.reason(text)
