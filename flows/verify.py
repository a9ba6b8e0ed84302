"""Hold a published data set against its manifest. The command needs no Prefect; the deployment leaves a record."""

import sys

if __name__ == "__main__":
    from gristmill.commands.verify import main

    sys.exit(main(sys.argv[1:]))

from prefect import flow

from tasks.verify import verify_output


@flow(name="verify", flow_run_name="verify-{output}", persist_result=False)
def verify(output: str) -> dict[str, int]:
    """Check every published file, leave the result as an artifact, fail the run when anything differs."""
    return verify_output(output)
