"""``gristmill prepare``: the request of ``flows/prepare.py``, without Prefect and without a server."""

from typing import Any

from gristmill import pipeline
from gristmill.commands.prepare import checked
from gristmill.config import PrepareConfig
from gristmill.runners.local import local_runner


def main(arguments: list[str]) -> int:
    """Check the request, carry it out in child processes of this machine, show the result."""
    return checked(arguments, "gristmill prepare").run(_prepared)


def _prepared(config: PrepareConfig) -> dict[str, Any]:
    with local_runner(config.execution) as runner:
        pipeline.prepare(config, runner)
    return {"hours": []}
