"""Runs that are killed with -9: ``python killed.py RUNS.json``, a list of ``{"config": {...}, "kills": [...]}``.

A kill is ``[outputs, seconds]``: one run of ``pipeline.prepare`` in a forked child, forked after every import so that
the kill falls into the work. It dies ``seconds`` after that many stage outputs stand, unless it was done before. With
another argument ``small-pieces`` every file is cut into many pieces.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from pieces import cut_small

from gristmill import config, pipeline
from gristmill.config import PrepareConfig


def run_killed(asked: PrepareConfig, outputs: int, seconds: float) -> None:
    """One run; a child that fails by itself ends this process with its status."""
    work = Path(asked.execution.work)
    child = os.fork()
    if child == 0:
        pipeline.prepare(asked)
        os._exit(0)
    while not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if sum(not path.parent.name.startswith(".tmp-") for path in work.glob("*/*/report.json")) >= outputs:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
            break
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, -signal.SIGKILL):
        sys.exit(status)


if __name__ == "__main__":
    runs = json.loads(Path(sys.argv[1]).read_text())
    parsed = [(config.parse(entry["config"]), entry["kills"]) for entry in runs]
    if "small-pieces" in sys.argv[2:]:
        cut_small(pytest.MonkeyPatch())
    for asked, kills in parsed:
        for outputs, seconds in kills:
            run_killed(asked, outputs, seconds)
