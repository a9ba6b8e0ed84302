"""Where and when something was measured."""

import datetime
import os
import platform
import shlex
import sys
from pathlib import Path

import psutil
from _results import Machine


def machine() -> Machine:
    """This one."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return Machine(
        processor=names[0] if names else platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory=psutil.virtual_memory().total,
        python=platform.python_version(),
    )


def today() -> str:
    return datetime.date.today().isoformat()


def command() -> str:
    """What was typed, as the page shows it: of paths their last part."""
    words = [Path(word).name if os.sep in word else word for word in sys.argv[1:]]
    return shlex.join(["python", "benchmarks/run.py", *words])
