"""Hold a published data set against its manifest. The command needs no Prefect; the deployment leaves a record."""

import sys

if __name__ == "__main__":
    from gristmill.commands.verify import main

    sys.exit(main(sys.argv[1:]))

from prefect import flow

from tasks.notify import tell_failure
from tasks.verify import verify_output


@flow(
    name="verify",
    flow_run_name="verify-{output}",
    persist_result=False,
    on_failure=[tell_failure],
    on_crashed=[tell_failure],
)
def verify(output: str, notify: str = "") -> dict[str, int]:  # noqa: ARG001  for the hooks
    """Check every published file, leave the result as an artifact, fail the run when anything differs.

    Args:
        output: The data set: a folder or an s3:// prefix.
        notify: Prefect notification block, TYPE/NAME, told when the run fails.
    """
    return verify_output(output)
