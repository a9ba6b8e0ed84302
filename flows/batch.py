"""Part of a run that is spread over a work pool: calls of one stage that this machine works off."""

from prefect import flow

from gristmill.config.execution import Execution
from tasks.run import running
from tasks.runner import carry_out


@flow(name="batch", flow_run_name="{order}", persist_result=False)
def batch(order: str, execution: Execution) -> int:
    """Read the order from the work area, work it off with this machine's workers, and leave the results there.

    Args:
        order: Name of the order in the work area.
        execution: That of the run which gave it.
    """
    with running(execution):
        return carry_out(order, execution)
