"""Raw text in, verified training shards out: the flow and its command."""

import sys

if __name__ == "__main__":
    from gristmill.commands import stopping_clearly

    stopping_clearly()  # until the flow runs and handles signals

    # Importing Prefect takes 1 s and starting its server about 10 s; a typo must not wait for either.
    from gristmill.commands.prepare import check

    COMMAND = check(sys.argv[1:])

    from tasks.server import begin

    begin()  # it starts while the rest is imported

from prefect import flow

from gristmill.config import PrepareConfig
from gristmill.phases.dedup import drop_duplicates
from gristmill.phases.ingest import ingest
from gristmill.phases.output import deliver
from gristmill.phases.tokens import tokenize_shards
from gristmill.stages.output.claiming import claimed
from gristmill.stages.publish.rehearse import rehearsed
from tasks.notify import tell_failure
from tasks.publish import publish, stand
from tasks.run import dated, running, watched
from tasks.runner import PrefectRunner
from tasks.server import with_server


@flow(
    name="prepare",
    flow_run_name="{config.dataset}",
    log_prints=False,
    persist_result=False,
    on_failure=[tell_failure],
    on_crashed=[tell_failure],
)
def prepare(config: PrepareConfig = PrepareConfig()) -> dict[str, object]:  # noqa: B008  a frozen value
    """Plan what is new, fetch and clean every shard, drop duplicates, tokenize, deliver, and publish the proof."""
    config = dated(config)
    with running(config.execution), watched():
        config, runner = rehearsed(config), PrefectRunner(config.execution)
        planned = runner.plan(config)
        if not planned.shards:
            return stand(planned, config)
        with claimed(planned, config) as claim:
            ingested = ingest(planned, config, runner)
            dropped = drop_duplicates(ingested, config, runner)
            tokenized = tokenize_shards(ingested, dropped, config, runner)
            delivered = deliver(tokenized, claim, config, runner)
            return publish(ingested, dropped, tokenized, delivered, claim, config)


if __name__ == "__main__":
    sys.exit(COMMAND.run(with_server(prepare)))
