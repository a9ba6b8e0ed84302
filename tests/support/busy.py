"""Which process is at work."""

import time
from pathlib import Path


def busy_worker(work: Path, stage: str) -> int:
    """The process that is at work on a stage, by the temporary folder it writes to."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for folder in work.glob(f"{stage}/.tmp-*"):
            return int(folder.name.removeprefix(".tmp-").partition("-")[0])
        time.sleep(0.001)
    raise AssertionError(f"{stage} has not begun")
