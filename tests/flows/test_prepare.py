"""The flow under the real Prefect engine: the library's bytes, whatever happens to workers, files and servers."""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest
from corpora import cut_short, documents_of, request, small_corpus, tree, write_documents
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, FlowRunFilter
from prefect.client.schemas.objects import State, TaskRun

from flows.prepare import prepare
from gristmill import serial
from gristmill.config import PrepareConfig
from gristmill.errors import InputError
from gristmill.manifest import read_manifest

SHARDS = 4
STAGES_PER_SHARD = ("ingest", "fetch", "clean", "sign", "tokenize")


class Run:
    """A finished flow run as the server remembers it."""

    def __init__(self, config: PrepareConfig) -> None:
        self.config = config
        self.state: State[Any] = prepare(config, return_state=True)
        self.identity: UUID | None = self.state.state_details.flow_run_id

    def tasks(self, least: int) -> dict[str, TaskRun]:
        """Task runs by name. The server files them as events, some time after they end."""
        wanted = FlowRunFilter(id={"any_": [self.identity]})
        deadline = time.monotonic() + 20
        while True:
            with get_client(sync_client=True) as client:
                found = client.read_task_runs(flow_run_filter=wanted, limit=200)
            done = [run for run in found if run.state is not None and run.state.is_final()]
            if len(done) >= least or time.monotonic() > deadline:
                names = Counter(run.name for run in done)
                assert all(count == 1 for count in names.values()), names
                return {run.name: run for run in done}
            time.sleep(0.2)

    def artifacts(self) -> dict[str, Any]:
        """Data of the artifacts by key."""
        wanted = ArtifactFilter(flow_run_id={"any_": [self.identity]})
        with get_client(sync_client=True) as client:
            found = client.read_artifacts(artifact_filter=wanted, limit=200)
        return {str(artifact.key): artifact.data for artifact in found}

    @property
    def bytes(self) -> dict[str, str]:
        return tree(Path(self.config.destination))


def corpus(folder: Path) -> None:
    texts = small_corpus(40 * SHARDS)
    for number in range(SHARDS):
        part = texts[number * 40 : number * 40 + 40]
        write_documents(folder / "in" / f"{number}.jsonl.gz", [*part, "the same in every file", " "])


def asked(folder: Path, name: str, *, workers: int = 2, **settings: Any) -> PrepareConfig:
    """A configuration over the corpus of ``folder``, with a work area and an output of its own."""
    execution = {"work": str(folder / name / "work"), "workers": workers}
    place = {"output": str(folder / name / "out"), "execution": execution}
    rest = {"dedup": [{"kind": "exact"}], "ordering": {"kind": "nanogpt"}, "split": {"fraction": 0.1}}
    return request(folder, **{**rest, **place, **settings})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the corpus, and what the library makes of it below ``serial/``."""
    found = tmp_path_factory.mktemp("flow")
    corpus(found)
    serial.prepare(asked(found, "serial"))
    return found


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    """A run without trouble, with two workers."""
    return Run(asked(folder, "two"))


def test_the_flow_gives_the_bytes_of_the_library(folder: Path, run: Run) -> None:
    """Tasks that call other code than the library, or in another order, would make another data set."""
    assert run.state.is_completed()
    assert run.bytes == tree(folder / "serial" / "out")


@pytest.mark.parametrize("workers", [1, 5])
def test_the_number_of_workers_changes_no_byte(folder: Path, workers: int) -> None:
    """A laptop and a cluster must make the same data set from the same configuration."""
    made = Run(asked(folder, f"workers-{workers}", workers=workers))
    assert made.state.is_completed()
    assert made.bytes == tree(folder / "serial" / "out")


def test_one_task_run_a_stage_and_shard_with_its_name_and_tags(run: Run) -> None:
    """In a run of 10,000 shards, the one that is slow or failed is found by name or not at all."""
    named = {f"{stage}-shard-{number:05d}": stage for stage in STAGES_PER_SHARD for number in range(SHARDS)}
    named |= {f"pack-piece-{number:05d}": "pack" for number in range(2)}
    named |= {f"upload-nanogpt-{number:05d}": "upload" for number in range(2)}
    named |= {"find-range-00000": "find", "decide": "decide", "vocabulary": "vocabulary", "order": "order"}
    named |= {"publish": "publish"}
    tasks = run.tasks(len(named) + 1)
    plans = [name for name in tasks if name not in named]
    assert len(plans) == 1
    assert plans[0].startswith("plan")
    for name, stage in named.items():
        assert tasks[name].run_count == 1, name
        assert stage in tasks[name].tags, name


def test_artifacts_show_every_file_and_every_shard(run: Run) -> None:
    """What people look at in the browser must be what was published, row by row."""
    manifest = read_manifest(Path(run.config.destination))
    artifacts = run.artifacts()
    published = json.loads(artifacts["shard-report"])
    assert [(row["file"], row["tokens"], row["EOS"], row["sha256"]) for row in published] == [
        (file.path, file.tokens, file.eos, file.sha256) for file in manifest.files
    ]
    shards = json.loads(artifacts["input-report"])
    assert [(row["documents"], row["kept"]) for row in shards] == [(42, 41), (42, 40), (42, 40), (42, 40)]
    assert shards[1]["dropped"] == "blank 1, duplicate_exact 1"
    assert artifacts["corpus-report"] == (Path(run.config.destination) / "report" / "summary.md").read_text()
    assert artifacts["progress"] == 100.0


def test_a_second_run_reuses_everything(run: Run) -> None:
    """A flow that is run again by a schedule must not rewrite what a trainer reads."""
    before = run.bytes
    reports = {path: path.stat().st_mtime_ns for path in Path(run.config.execution.work).glob("*/*/report.json")}
    again = Run(run.config)
    assert again.state.is_completed()
    assert run.bytes == before
    assert {path: path.stat().st_mtime_ns for path in reports} == reports
