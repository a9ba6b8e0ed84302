"""A tokenizer by itself: its files where a later configuration can name them."""

from typing import Any

import msgspec

from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.stages.tokens.tokenizer import report_of_training
from gristmill.storage import stores
from gristmill.types import StageReport

FOLDER = "tokenizer"
REPORT = "report/tokenizer.json"


def check_trained(config: PrepareConfig) -> None:
    """Raises ``ConfigError`` when the tokenizer is not made from documents, or its weights do not fit the sources."""
    if not config.tokenizer.needs_documents:
        raise ConfigError(f"tokenizer: kind {config.tokenizer.kind()} is not made from documents; give kind: train")
    config.tokenizer.sample({source.label: 0 for source in config.sources})


def publish_tokenizer(tokenizer: StageReport, config: PrepareConfig) -> dict[str, Any]:
    """Put the files into ``OUTPUT/tokenizer/`` and what was measured into ``OUTPUT/report/tokenizer.json``; returns the
    latter with the ``folder``. Files that are there already must be the same, else ``ConfigError``."""
    output = stores.at(config.destination)
    page = report_of_training(tokenizer)
    assert page is not None
    for name, artifact in sorted(tokenizer.artifacts.items()):
        output.publish(f"{FOLDER}/{name}", [stores.here(artifact)])
    output.publish(REPORT, [], page)
    return {"folder": output.where(FOLDER), **msgspec.json.decode(page)}
