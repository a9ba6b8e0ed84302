"""The progress of a run on its server."""

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact

from gristmill.reporting.board import Board

PROGRESS_SECONDS = 1.0
"""Between updates of the progress artifact. One takes 30 ms, and seconds where the server is busy."""


class ProgressArtifact:
    """The progress artifact of the current run."""

    def __init__(self) -> None:
        self._artifact: UUID | None = None

    @contextmanager
    def following(self) -> Iterator[Board]:
        """Count from zero, show the board, and keep the artifact up to date: from a thread, for the run must not wait
        for the server, and in the flow's context, for there is its client: another one a second, with the certificates
        that it loads, would take 50 ms of CPU each time."""
        board = Board()
        self._artifact = UUID(str(create_progress_artifact(0.0, key="progress", description="Work done so far")))
        ended = threading.Event()

        def follow() -> None:
            while not ended.wait(PROGRESS_SECONDS):
                with contextlib.suppress(httpx.HTTPError):  # the next update will do
                    self.update(board.share())

        thread = threading.Thread(target=copy_context().run, args=[follow], daemon=True)
        thread.start()
        try:
            with board:
                yield board
        finally:
            ended.set()
            thread.join()

    def update(self, share: float) -> None:
        """Show in the artifact that this share of the work is done."""
        if self._artifact is not None:
            update_progress_artifact(self._artifact, progress=100 * share)


progress = ProgressArtifact()
