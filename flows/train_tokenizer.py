"""Raw text in, a tokenizer trained on it out: the flow and its command."""

import sys

if __name__ == "__main__":
    from gristmill.commands import stopping_clearly

    stopping_clearly()  # until the flow runs and handles signals

    # Importing Prefect takes 1 s and starting its server about 10 s; a typo must not wait for either.
    from gristmill.commands.train_tokenizer import check

    COMMAND = check(sys.argv[1:])

    from tasks.server import begin

    begin()  # it starts while the rest is imported

from prefect import flow

from gristmill.config import PrepareConfig
from gristmill.phases.dedup import drop_duplicates
from gristmill.phases.ingest import ingest
from gristmill.phases.tokens import train
from gristmill.stages.publish.publish_tokenizer import check_trained
from gristmill.stages.publish.rehearse import rehearsed
from tasks.publish import publish_tokenizer
from tasks.run import dated, running, watched
from tasks.runner import PrefectRunner
from tasks.server import with_server


@flow(name="train_tokenizer", flow_run_name="tokenizer-{config.dataset}", log_prints=False, persist_result=False)
def train_tokenizer(config: PrepareConfig = PrepareConfig()) -> dict[str, object]:  # noqa: B008  a frozen value
    """Plan the input, fetch and clean every shard, drop duplicates, train on what is kept, publish the tokenizer."""
    config = dated(config)
    with running(config.execution), watched():
        check_trained(config)
        config, runner = rehearsed(config), PrefectRunner(config.execution)
        ingested = ingest(runner.plan(config), config, runner)
        dropped = drop_duplicates(ingested, config, runner)
        trained = train(dropped, config, runner)
        return publish_tokenizer(trained, config)


if __name__ == "__main__":
    sys.exit(COMMAND.run(with_server(train_tokenizer)))
