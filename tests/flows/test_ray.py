"""Work that is spread over a Ray cluster of real processes: the same bytes, whoever dies."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from busy import busy_worker
from corpora import request, small_corpus, tree, write_documents
from flow_runs import Run

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError

pytest.importorskip("prefect_ray", reason="pip install 'gristmill[ray]' runs it; it is too large for every setup")

ROOT = Path(__file__).resolve().parents[2]
SHARDS = 4


def asked(folder: Path, name: str, **execution: Any) -> PrepareConfig:
    return request(
        folder,
        dedup=[{"kind": "exact"}],
        output=str(folder / name / "out"),
        execution={"work": str(folder / name / "work"), "workers": 2, **execution},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the corpus, and what the library makes of it below ``serial/``."""
    found = tmp_path_factory.mktemp("ray")
    texts = small_corpus(40 * SHARDS)
    for number in range(SHARDS):
        write_documents(found / "in" / f"{number}.jsonl", [*texts[number * 40 : number * 40 + 40], "in every file"])
    pipeline.prepare(asked(found, "serial"))
    return found


@pytest.fixture(scope="module", autouse=True)
def _token() -> Iterator[None]:
    """Every Ray of these tests asks for a token of theirs, and none is written to the home of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Ray that was started by itself, with two workers at most."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="ray-") as files:  # a longer name is too long for its sockets
        options = f"--head --block --port {port} --num-cpus 2 --include-dashboard false --disable-usage-stats"
        started = subprocess.Popen(
            [Path(sys.executable).with_name("ray"), "start", *options.split(), "--temp-dir", files],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert started.stdout is not None
            told = started.stdout.readline()
            while "Ray runtime started" not in told:
                assert told, started.wait()
                told = started.stdout.readline()
            yield f"127.0.0.1:{port}"
        finally:
            started.terminate()
            started.wait(60)


def test_a_ray_worker_that_is_killed_changes_no_byte(folder: Path, cluster: str) -> None:
    """A cluster loses machines in the middle of a run; its work is done by the others."""
    config = asked(folder, "cluster", runner="ray", address=cluster)
    killed: list[str] = []

    def kill() -> None:
        worker = psutil.Process(busy_worker(Path(config.execution.work), "clean")).parent()
        assert worker is not None
        killed.append(worker.cmdline()[0])
        worker.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    run = Run(config)
    killer.join()
    assert run.state.is_completed(), run.state
    assert len(killed) == 1
    assert killed[0].startswith("ray::")
    assert run.bytes == tree(folder / "serial" / "out")


def test_workers_with_another_work_area_are_found_before_any_work(
    folder: Path, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would fetch for itself, and the run end hours later with files that are not there."""
    monkeypatch.setattr("tasks.spread.marked", lambda _: contextlib.nullcontext("/nowhere/marks/f00d"))
    run = Run(asked(folder, "elsewhere", runner="ray", address=cluster))
    with pytest.raises(ConfigError, match="is not the run's work area"):
        run.state.result()
    assert not list((folder / "elsewhere" / "work").glob("fetch/*"))


def rays() -> set[int]:
    """Processes of every Ray that was started here."""
    return {process.pid for process in psutil.Process().children(recursive=True) if process.name() == "raylet"}


def test_without_an_address_a_run_starts_a_ray_and_ends_it(folder: Path) -> None:
    """One that stays keeps memory for ever; one that takes SIGTERM ends a run without a word."""
    handler, before = signal.getsignal(signal.SIGTERM), rays()
    run = Run(asked(folder, "own", runner="ray"))
    assert run.state.is_completed(), run.state
    assert run.bytes == tree(folder / "serial" / "out")
    assert signal.getsignal(signal.SIGTERM) is handler
    assert rays() == before
