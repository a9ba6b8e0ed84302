"""What operators do with runs: cancel, retry, be told, limit; through the API, with a worker that starts processes."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import psutil
from corpora import tree
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
    return [process.pid for process in found if "gristmill.worker" in _command(process)]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it ended meanwhile
        return []


@contextmanager
def listener() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A web server on this machine; its address and what was posted to it."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()


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


def test_the_run_is_named_by_the_generation_that_it_makes(stack: Stack, small_corpus: Path, tmp_path: Path) -> None:
    """A list of nightly runs with one name for all does not say which of them added what."""
    corpus = shutil.copytree(small_corpus, tmp_path / "corpus")
    config = settings(stack, "named", corpus)
    names = []
    for generation in range(3):
        if generation == 1:
            (corpus / "2.jsonl").write_text(json.dumps({"id": "2", "text": "and then came another night " * 9}) + "\n")
        names.append(stack.completed(stack.run("nightly", config=config))["name"])
    assert names == ["named-g1", "named-g2", "named-g2"]
    assert len(tree(Path(config["output"]) / "manifests")) == 2


def test_failures_and_quarantine_are_told_to_the_block_that_is_named(stack: Stack, tmp_path: Path) -> None:
    """A nightly run that fails in silence is found a week later."""
    (tmp_path / "0.jsonl").write_text('{"id": "a", "text": "fine"}\n{"id": "b", "text": 7}\n')
    with listener() as (url, heard):
        kind = next(
            one["id"] for one in stack.post("/block_types/filter", limit=200) if one["slug"] == "custom-webhook"
        )
        schema = stack.post("/block_schemas/filter", block_schemas={"block_type_id": {"any_": [kind]}})[0]
        data = {"name": "ops", "url": url, "json_data": {"subject": "{{subject}}", "body": "{{body}}"}}
        stack.post("/block_documents/", name="ops", data=data, block_type_id=kind, block_schema_id=schema["id"])
        execution = {"notify": "custom-webhook/ops"}
        config = settings(stack, "told", tmp_path, max_quarantined_share=0.1, execution=execution)
        failed = stack.wait(stack.run("prepare", config=config))
        assert failed["state_type"] == "FAILED"
        wait_for(lambda: len(heard) == 1, seconds=20)
        stack.completed(stack.run("prepare", config={**config, "max_quarantined_share": 0.5}))
    assert [message["subject"] for message in heard] == [
        "prepare told-g1: Failed",
        "told: 1 documents in quarantine",
    ]
    assert "1 of 2 documents (50.0%) cannot be used" in heard[0]["body"]
    assert heard[1]["body"] == "non_string_text 1"
