"""Runs that are killed with -9: ``python killed.py RUNS.json``, a list of ``{"config": ..., "delays": [...]}``.

Each delay (seconds; ``inf``: to the end) is one run of ``serial.prepare`` in a forked child, forked after every import
so that the kill falls into the work. Prints the seconds that each run took.
"""

import json
import os
import signal
import sys
import time

import pyarrow as pa

from gristmill import config, serial
from gristmill.config import PrepareConfig


def run(asked: PrepareConfig, delay: float) -> float:
    """Seconds until the child was killed or done; a child that fails ends this process too."""
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        serial.prepare(asked)
        os._exit(0)
    if delay != float("inf"):
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, -signal.SIGKILL):
        sys.exit(status)
    return time.perf_counter() - began


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        runs = json.load(file)
    pa.array([""])  # brings in pandas, which takes longer than all the rest of a small run
    parsed = [(config.parse(entry["config"]), entry["delays"]) for entry in runs]
    print(json.dumps([[run(asked, float(delay)) for delay in delays] for asked, delays in parsed]))
