"""Runs of the flow under a Prefect server, and what the server remembers of them."""

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from corpora import tree
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, FlowRunFilter
from prefect.client.schemas.objects import State, TaskRun

from flows.prepare import prepare
from gristmill.config import PrepareConfig


class Run:
    """A finished flow run as the server remembers it."""

    def __init__(self, config: PrepareConfig) -> None:
        self.config = config
        self.state: State[Any] = prepare(config, return_state=True)
        self.identity: UUID | None = self.state.state_details.flow_run_id

    def tasks(self, names: Iterable[str]) -> dict[str, TaskRun]:
        """All task runs by name, once those of these names have ended: the server files them some time later."""
        wanted = FlowRunFilter(id={"any_": [self.identity]})
        missing = set(names)
        deadline = time.monotonic() + 30
        while True:
            with get_client(sync_client=True) as client:
                found = client.read_task_runs(flow_run_filter=wanted, limit=200)
            done = [run for run in found if run.state is not None and run.state.is_final()]
            missing -= {run.name for run in done}
            if not missing:
                counts = Counter(run.name for run in done)
                assert all(count == 1 for count in counts.values()), counts
                return {run.name: run for run in done}
            assert time.monotonic() < deadline, f"no task run ended of the name {sorted(missing)}"
            time.sleep(0.2)

    def artifacts(self) -> dict[str, Any]:
        """Data of the artifacts by key."""
        wanted = ArtifactFilter(flow_run_id={"any_": [self.identity]})
        with get_client(sync_client=True) as client:
            found = client.read_artifacts(artifact_filter=wanted, limit=200)
        return {str(artifact.key): artifact.data for artifact in found}

    @property
    def name(self) -> str:
        """What the list of runs shows."""
        assert self.identity is not None
        with get_client(sync_client=True) as client:
            return client.read_flow_run(self.identity).name

    @property
    def bytes(self) -> dict[str, str]:
        return tree(Path(self.config.destination))
