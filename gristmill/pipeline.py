"""The job, stated once. A runner carries it out; without one, every call is made in this process."""

from typing import Any

from gristmill.config import PrepareConfig
from gristmill.phases.dedup import drop_duplicates
from gristmill.phases.ingest import ingest
from gristmill.phases.output import deliver, results
from gristmill.phases.tokens import tokenize_shards, train
from gristmill.runners.base import Runner
from gristmill.runners.in_process import IN_PROCESS
from gristmill.stages.output.claiming import claimed
from gristmill.stages.publish.publish import publish, stand
from gristmill.stages.publish.publish_tokenizer import check_trained, publish_tokenizer
from gristmill.stages.publish.rehearse import rehearsed
from gristmill.types import Manifest


def prepare(config: PrepareConfig, runner: Runner = IN_PROCESS) -> Manifest:
    """Make the data set that ``config`` describes, or its rehearsal where it asks for one, and return the manifest."""
    config.execution.apply()
    config = rehearsed(config)
    planned = runner.plan(config)
    if not planned.shards:
        return stand(planned, config)
    with claimed(planned, config) as claim:
        ingested = ingest(planned, config, runner)
        dropped = drop_duplicates(ingested, config, runner)
        tokenized = tokenize_shards(ingested, dropped, config, runner)
        delivered = deliver(tokenized, claim, config, runner)
        return publish(results(ingested, dropped, tokenized, delivered, claim), config)


def train_tokenizer(config: PrepareConfig, runner: Runner = IN_PROCESS) -> dict[str, Any]:
    """Train a tokenizer on the documents that are kept, publish it alone, and return its report."""
    check_trained(config)
    config.execution.apply()
    config = rehearsed(config)
    ingested = ingest(runner.plan(config), config, runner)
    dropped = drop_duplicates(ingested, config, runner)
    return publish_tokenizer(train(dropped, config, runner), config)
