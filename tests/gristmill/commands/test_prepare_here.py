"""``gristmill prepare``: the job of the flow without Prefect, as a person runs it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from busy import busy_worker
from corpora import cut_short, request, small_corpus, tree, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig

COMMAND = [str(Path(sys.executable).with_name("gristmill")), "prepare"]


def started(config: PrepareConfig, *options: str) -> "subprocess.Popen[str]":
    path = Path(config.execution.work).parent / "config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config.model_dump(mode="json")))
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*COMMAND, str(path), *options], start_new_session=True, **pipes)


def asked(folder: Path, name: str) -> PrepareConfig:
    execution = {"work": str(folder / name / "work"), "workers": 2}
    return request(folder, output=str(folder / name / "out"), dedup=[{"kind": "exact"}], execution=execution)


def test_it_makes_the_bytes_of_the_pipeline_without_prefect(tmp_path: Path) -> None:
    """Whoever has no use for a server gets the same data set, and need not wait for one."""
    for number in range(3):
        write_documents(tmp_path / "in" / f"{number}.jsonl", small_corpus(60)[number * 20 : number * 20 + 20])
    config = asked(tmp_path, "command")
    done = started(config)
    out, errors = done.communicate(timeout=60)
    assert done.returncode == 0, errors
    assert "Prefect" not in errors
    assert "60 documents published" in out
    alone = asked(tmp_path, "alone")
    pipeline.prepare(alone)
    assert tree(Path(config.destination)) == tree(Path(alone.destination))
    again = started(config)
    assert again.wait(timeout=60) == 0
    assert tree(Path(config.destination)) == tree(Path(alone.destination))


def test_control_c_stops_it_in_one_line_and_the_same_command_resumes(tmp_path: Path) -> None:
    """Workers that go on, or a run that begins anew, cost whoever pressed it what it should have saved."""
    texts = small_corpus(400)
    write_documents(tmp_path / "in" / "a.jsonl", texts)
    write_documents(tmp_path / "in" / "b.jsonl", [text * 20 for text in texts])
    config = asked(tmp_path, "command")
    command = started(config)
    busy_worker(Path(config.execution.work), "clean")
    os.killpg(command.pid, signal.SIGINT)
    _, errors = command.communicate(timeout=20)
    assert command.returncode == 130, errors
    assert errors.splitlines()[-1] == "stopped; the same command resumes where this one ended"
    assert "Traceback" not in errors
    resumed = started(config)
    assert resumed.wait(timeout=60) == 0
    alone = asked(tmp_path, "alone")
    pipeline.prepare(alone)
    assert tree(Path(config.destination)) == tree(Path(alone.destination))


def test_a_file_that_cannot_be_read_ends_it_with_status_2_in_one_line(tmp_path: Path) -> None:
    write_documents(tmp_path / "in" / "a.jsonl.gz", small_corpus(20))
    bad = cut_short(write_documents(tmp_path / "in" / "b.jsonl.gz", small_corpus(40)))
    config = asked(tmp_path, "command")
    done = started(config)
    _, errors = done.communicate(timeout=60)
    assert done.returncode == 2
    assert errors.splitlines()[-1].startswith(f"error: {bad}: ")
    assert not Path(config.destination).exists()
