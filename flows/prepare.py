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
from gristmill.stages.output.claiming import claimed
from gristmill.stages.publish.rehearse import rehearsed
from tasks.dedup import drop_duplicates
from tasks.deliver import deliver
from tasks.ingest import ingest
from tasks.notify import tell_failure
from tasks.plan import plan
from tasks.publish import publish, stand
from tasks.run import dated, running, watched
from tasks.server import with_server
from tasks.tokenize import tokenize_shards


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
        config = rehearsed(config)
        planned = plan(config)
        if not planned.shards:
            return stand(planned, config)
        with claimed(planned, config) as claim:
            ingested = ingest(planned, config)
            dropped = drop_duplicates(ingested, config)
            tokenized = tokenize_shards(ingested.cleaned, dropped, config)
            delivered = deliver(tokenized, claim, config)
            return publish(ingested, dropped, tokenized, delivered, claim, config)


if __name__ == "__main__":
    sys.exit(COMMAND.run(with_server(prepare)))
