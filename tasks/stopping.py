"""How a run ends that was stopped: its task runs are no errors, and one that was cancelled says so at once."""

import logging
from contextlib import suppress
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.runtime import flow_run
from prefect.states import Cancelled

from gristmill.processes.pool import Stopped


class _Stopped(logging.Filter):
    """Prefect logs a task run that was stopped as two errors, one with a traceback. Neither is one: the lines stay, as
    information."""

    def filter(self, record: logging.LogRecord) -> bool:
        raised = record.exc_info[1] if record.exc_info else None
        stopped = isinstance(raised, Stopped) or f" {Stopped.__name__}: " in record.getMessage()
        if stopped and record.levelno == logging.ERROR:
            record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
            record.exc_info = None
        return True


_FILTER = _Stopped()


def log_stopped_as_information() -> None:
    """From here on, in this process."""
    logging.getLogger("prefect.task_runs").addFilter(_FILTER)


def confirm_cancelled() -> None:
    """Where somebody cancelled this flow run, record that it is. Prefect's runner does so as well, but only once it has
    loaded the flow anew for its hooks: 8 s on an idle machine, and over a minute on a busy one."""
    with suppress(httpx.HTTPError), get_client(sync_client=True) as client:  # without its server it ends all the same
        state = client.read_flow_run(UUID(flow_run.id)).state
        if state is not None and state.is_cancelling():
            client.set_flow_run_state(
                UUID(flow_run.id),
                Cancelled(message="Flow run was cancelled; the same configuration resumes it"),
                force=True,
            )
