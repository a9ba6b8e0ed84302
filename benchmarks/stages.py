"""Where the time of a job goes: CPU seconds of every stage in one process, and the functions that take most of them.

    python benchmarks/stages.py FILE --tokenizer gpt2.json
    python benchmarks/stages.py FILE --tokenizer gpt2.json --job dedup --profile tokenize

FILE is a jsonl.gz file, or several by a glob. --profile slows its stage down by the cost of being watched.
"""

import argparse
import cProfile
import os
import pstats
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from _ours import JOBS

from gristmill import ledger, pipeline
from gristmill.config import PrepareConfig
from gristmill.processes.pool import ONE_THREAD
from gristmill.stages.tokens.ready import ready
from gristmill.types import StageReport

SHOWN = 15
"""Functions of a profile."""


def configured(file: str, tokenizer: str, name: str, folder: str) -> PrepareConfig:
    """The job of run.py with this name, on one file and in one process."""
    return PrepareConfig.model_validate(
        {
            "dataset": "stages",
            "sources": [{"kind": "files", "paths": [file], "id_key": "id"}],
            "tokenizer": {"kind": "huggingface", "path": tokenizer},
            **JOBS[name],
            "output": f"{folder}/out",
            "execution": {"work": f"{folder}/work", "workers": 1},
        }
    )


class Clock:
    """Stands in for ``ledger.run`` and adds up what each stage takes."""

    def __init__(self, profiled: str) -> None:
        self.cpu: dict[str, float] = defaultdict(float)
        self.profile = cProfile.Profile()
        self._profiled = profiled
        self._run = ledger.run

    def __call__(
        self, work: str, stage: str, shard: int, inputs: dict[str, Any], produce: Callable[..., StageReport]
    ) -> StageReport:
        began = time.process_time()
        if stage == self._profiled:
            self.profile.enable()
        try:
            return self._run(work, stage, shard, inputs, produce)
        finally:
            self.profile.disable()
            self.cpu[stage] += time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="a jsonl.gz file, or a glob")
    parser.add_argument("--tokenizer", required=True, help="a tokenizer.json")
    parser.add_argument("--job", choices=sorted(JOBS), default="tokens")
    parser.add_argument("--profile", default="", metavar="STAGE", help="show the functions of this stage")
    options = parser.parse_args()
    os.environ.update(ONE_THREAD)
    with tempfile.TemporaryDirectory(prefix="gristmill-stages-") as folder:
        config = configured(options.file, options.tokenizer, options.job, folder)
        config.execution.apply()
        ready(config)
        clock = Clock(options.profile)
        ledger.run = clock
        began = time.process_time()
        manifest = pipeline.prepare(config)
        whole = time.process_time() - began
    print(f"{manifest.totals['input_documents']:,} documents, {manifest.totals['tokens']:,} ids, {whole:.2f} CPU s")
    for stage, seconds in clock.cpu.items():
        print(f"{stage:12}{seconds:8.3f}")
    print(f"{'the rest':12}{whole - sum(clock.cpu.values()):8.3f}   the plan, the manifest, the report")
    if options.profile:
        pstats.Stats(clock.profile).sort_stats("tottime").print_stats(SHOWN)


if __name__ == "__main__":
    main()
