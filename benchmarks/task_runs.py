"""What a task run costs, so that docs/scaling.md can say how many a stage may have: python benchmarks/task_runs.py

Empty tasks on threads, against a Prefect server of their own with the project's settings.
"""

import argparse
import resource
import time
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner
from prefect.testing.utilities import prefect_test_harness

THREADS: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=2)


@task(cache_policy=NO_CACHE, persist_result=False)
def nothing(number: int) -> int:
    """No work: what is left is Prefect."""
    return number


@flow(task_runner=THREADS, log_prints=False)
def many(count: int) -> int:
    """``count`` task runs."""
    return len([future.result() for future in nothing.map(range(count))])


def cpu() -> float:
    """CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print wall and CPU milliseconds of the flow's process, for each task run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--counts", default="200,1000")
    counts = [int(count) for count in parser.parse_args().counts.split(",")]
    with prefect_test_harness(server_startup_timeout=180):
        many(10)
        for count in counts:
            wall, busy = time.monotonic(), cpu()
            many(count)
            wall, busy = time.monotonic() - wall, cpu() - busy
            each = f"{1000 * wall / count:.1f} ms each, {1000 * busy / count:.1f} ms CPU in the flow's process"
            print(f"{count:,} task runs: {each}", flush=True)


if __name__ == "__main__":
    main()
