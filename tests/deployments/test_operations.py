"""What operators do with runs: cancel and retry; through the API, with a worker that starts processes."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from stack import Stack


def settings(stack: Stack, name: str, corpus: Path, **others: Any) -> dict[str, Any]:
    return {
        "dataset": name,
        "sources": [{"kind": "files", "paths": [str(corpus)]}],
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "output": str(stack.folder / name),
        **others,
        "execution": {"workers": 1, "work": str(stack.folder / f"work-{name}"), **others.get("execution", {})},
    }


def wait_for(met: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def at_work(stack: Stack) -> list[int]:
    """Worker processes of all runs that the stack's worker has started."""
    found = psutil.Process(stack.processes["worker"].pid).children(recursive=True)
    return [process.pid for process in found if "gristmill.processes.child" in _command(process)]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it ended meanwhile
        return []


def test_a_cancelled_run_stops_within_15_s_and_is_taken_up_where_it_was(stack: Stack, tmp_path: Path) -> None:
    """A run that goes on in the background, or starts from nothing the next time, costs a day; one that stays
    Cancelling holds its deployment's only place, and tracebacks send people looking for a fault."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    line = json.dumps({"id": "x", "text": "whatever was said of it, was said twice " * 100})
    for shard in range(4):
        text = "".join(line.replace('"x"', f'"{shard}-{row}"') + "\n" for row in range(2000 if shard else 2))
        (corpus / f"{shard}.jsonl").write_text(text)
    config = settings(stack, "cancelled", corpus, dedup=[{"kind": "minhash"}])
    work = Path(config["execution"]["work"])
    run = stack.run("prepare", config=config)
    wait_for(lambda: any(work.glob("sign/*/report.json")))
    assert at_work(stack)
    asked = time.monotonic()
    stack.set_state(run, "CANCELLING", "Cancelling")
    wait_for(lambda: not at_work(stack), seconds=15)
    assert time.monotonic() - asked < 15
    ended = stack.wait(run, seconds=30)
    assert ended["state_type"] == "CANCELLED", ended["state"]
    assert stack.has_logged(run, "Flow run was cancelled")
    assert stack.errors(run) == []
    assert not (stack.folder / "cancelled" / "manifest.json").exists()
    before = {path: path.stat().st_mtime_ns for path in work.glob("*/*/report.json")}
    assert len(before) >= 2
    stack.completed(stack.run("prepare", config=config))
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_failed_run_that_is_retried_reuses_what_was_finished(
    stack: Stack, small_corpus: Path, tmp_path: Path
) -> None:
    """The button Retry must not fetch and clean again what a day of work has left."""
    corpus = shutil.copytree(small_corpus, tmp_path / "corpus")
    good = (corpus / "1.jsonl").read_text()
    (corpus / "1.jsonl").write_text(good + "{broken\n" * 30)
    config = settings(stack, "retried", corpus)
    work = Path(config["execution"]["work"])
    run = stack.run("prepare", config=config)
    failed = stack.wait(run)
    assert failed["state_type"] == "FAILED", stack.logs(run)
    before = {path: path.stat().st_mtime_ns for path in work.glob("*/*/report.json")}
    assert len(before) >= 5
    (corpus / "1.jsonl").write_text(good)
    stack.set_state(run, "SCHEDULED", "AwaitingRetry")
    done = stack.completed(run)
    assert {path: path.stat().st_mtime_ns for path in before if path.exists()} == before
    assert done["run_count"] == 2
    assert stack.has_logged(run, "fetch shard-00000: reused"), stack.logs(run)
    assert done["name"] == "retried-g1"
    assert {"gristmill", "retried"} <= {*done["tags"]}
