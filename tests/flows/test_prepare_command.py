"""``python flows/prepare.py`` as a person runs it: what it says when it fails, and how it stops."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from busy import busy_worker
from corpora import cut_short, request, small_corpus, tree, write_documents
from data import GPT2, real_texts
from flow_runs import Run
from handlers import kept
from prefect.exceptions import TerminationSignal
from prefect.settings import PREFECT_API_URL, PREFECT_SERVER_DATABASE_CONNECTION_URL

from gristmill import pipeline
from gristmill.commands import STOPPED
from gristmill.config import PrepareConfig
from tasks.server import with_server

ROOT = Path(__file__).resolve().parents[2]
NANOGPT: dict[str, Any] = {
    "tokenizer": {"kind": "huggingface", "path": str(GPT2)},
    "ordering": {"kind": "nanogpt"},
    "split": {"fraction": 0.0005},
}


def started(config: PrepareConfig, folder: Path) -> "subprocess.Popen[str]":
    """The command at work, with a server of its own, in a process group of its own."""
    (folder / "config.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment["PREFECT_HOME"] = str(with_database(folder / "prefect"))
    return subprocess.Popen(
        [sys.executable, "flows/prepare.py", str(folder / "config.yaml")],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def with_database(home: Path) -> Path:
    """A folder of Prefect's with the database of the tests' server: to make a new one takes 10 s."""
    home.mkdir()
    there = PREFECT_SERVER_DATABASE_CONNECTION_URL.value().partition("///")[2]
    with closing(sqlite3.connect(there)) as source, closing(sqlite3.connect(home / "prefect.db")) as copy:
        source.backup(copy)
    return home


def is_alive(process: psutil.Process) -> bool:
    """Whether it runs. One that ended without a parent is a zombie until the system's first process looks."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_control_c_stops_at_once_and_the_next_run_completes(tmp_path: Path) -> None:
    """A terminal sends it to the whole group, Prefect's server included: the command must neither hang nor leave
    workers behind, and what it had done must count."""
    for part in range(4):
        texts = [f"{part}.{copy} {text}" for copy in range(4) for text in real_texts()]
        write_documents(tmp_path / "in" / f"{part}.jsonl.gz", texts)
    config = request(tmp_path, **NANOGPT)
    command = started(config, tmp_path)
    worker = psutil.Process(busy_worker(Path(config.execution.work), "tokenize"))
    everyone = psutil.Process(command.pid).children(recursive=True)
    began = time.monotonic()
    os.killpg(command.pid, signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    assert time.monotonic() - began < 10
    assert command.returncode == 130
    assert errors.splitlines()[-1] == "stopped; the same command resumes where this one ended"
    assert "Traceback" not in errors
    assert worker in everyone
    assert psutil.wait_procs(everyone, timeout=5)[1] == []

    resumed = Run(config)
    assert resumed.state.is_completed()
    again = request(tmp_path, **NANOGPT, output=str(tmp_path / "again"), execution={"work": str(tmp_path / "else")})
    pipeline.prepare(again)
    assert tree(Path(config.destination) / "nanogpt") == tree(Path(again.destination) / "nanogpt")


def test_what_a_run_started_ends_with_it_when_it_is_killed(tmp_path: Path) -> None:
    """Its server would stay for ever, and hold a port, 200 MB and the database that the next run's server opens."""
    write_documents(tmp_path / "in" / "a.jsonl", small_corpus(400))
    config = request(tmp_path)
    command = started(config, tmp_path)
    worker = psutil.Process(busy_worker(Path(config.execution.work), "clean"))
    everyone = psutil.Process(command.pid).children(recursive=True)
    assert worker in everyone
    assert any("uvicorn" in process.cmdline() for process in everyone)
    command.kill()
    command.communicate(timeout=10)  # until nobody has its outputs open
    deadline = time.monotonic() + 10
    while any(is_alive(process) for process in everyone):
        assert time.monotonic() < deadline, everyone
        time.sleep(0.1)


def test_a_signal_that_reaches_prefect_too_late_stops_the_command_all_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It leaves a flow that has just ended as an exception that nobody else knows: a traceback, and status 1."""

    def flow() -> None:
        raise TerminationSignal(signal=signal.SIGTERM)

    flow.fn = flow
    with kept(), pytest.raises(SystemExit, match="143"):
        with_server(flow)()
    assert capsys.readouterr().err == f"{STOPPED}\n"


def test_a_failed_run_says_why_in_one_line(tmp_path: Path) -> None:
    """A page of Prefect's traceback hides the one line that says which file to mend."""
    write_documents(tmp_path / "in" / "a.jsonl.gz", small_corpus(20))
    bad = cut_short(write_documents(tmp_path / "in" / "b.jsonl.gz", small_corpus(40)))
    config = request(tmp_path)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")))
    environment = dict(os.environ, PREFECT_API_URL=str(PREFECT_API_URL.value()), PREFECT_HOME=str(tmp_path / "prefect"))
    done = subprocess.run(
        [sys.executable, "flows/prepare.py", str(tmp_path / "config.yaml")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    *progress, error = done.stderr.splitlines()
    assert {line.partition(":")[0] for line in progress} <= {"fetch", "clean", "sign"}
    assert any(", 1 failed" in line for line in progress)
    assert error.startswith(f"error: {bad}: ")
    assert not Path(config.destination).exists()
