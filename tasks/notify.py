"""Word to people: through the Prefect notification block that the configuration names, where it names one."""

from typing import Any

from prefect.blocks.abstract import NotificationBlock
from prefect.blocks.core import Block
from prefect.client.orchestration import get_client
from prefect.exceptions import PrefectException
from prefect.logging import get_logger


def tell(block: str, subject: str, body: str) -> None:
    """Send a message; a block that is missing or fails is logged, since the run is what matters.

    ``block`` is ``TYPE/NAME``, as ``prefect block ls`` lists it; nothing is sent where it is empty.
    """
    if not block:
        return
    try:
        found = Block.load(block)
        if not isinstance(found, NotificationBlock):
            raise ValueError(f"{type(found).__name__} sends no messages")
        with found.raise_on_failure():
            found.notify(body, subject)
    except (PrefectException, ValueError, OSError, RuntimeError) as error:
        get_logger("gristmill").error("notification block %s: %s", block, error)


def tell_failure(flow: Any, flow_run: Any, state: Any) -> None:
    """Hook of a flow that failed or crashed. Prefect calls it with these names."""
    block = _block(flow_run.parameters)
    if block:
        with get_client(sync_client=True) as client:
            name = client.read_flow_run(flow_run.id).name  # it was renamed since the run began
        tell(block, f"{flow.name} {name}: {state.name}", state.message or "no message")


def _block(parameters: dict[str, Any]) -> str:
    """From the parameter ``notify`` or the one within ``config``, as the server holds them: not validated."""
    given = parameters
    for key in ("config", "execution"):
        given = given.get(key) or {} if "notify" not in given else given
    return str(given.get("notify") or "")
