"""The flow under the real Prefect engine: the library's bytes, whatever happens to workers, files and servers."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
from busy import busy_worker
from corpora import cut_short, documents_of, request, small_corpus, tree, write_documents
from flow_runs import Run
from soak.lost import ALWAYS, POISONED, Trap, key_of

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import InputError, WorkerLost
from gristmill.manifest import read_manifest
from gristmill.reporting.summary import summary
from gristmill.reporting.tables import escaped
from tasks.artifacts import SUM_DIGITS

SHARDS = 4
STAGES_PER_SHARD = ("ingest", "fetch", "clean", "sign", "tokenize")


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
    pipeline.prepare(asked(found, "serial"))
    return found


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    """A run without trouble, with two workers."""
    return Run(asked(folder, "two"))


def test_the_flow_gives_the_bytes_of_the_library(folder: Path, run: Run) -> None:
    """Tasks that call other code than the library, or in another order, would make another data set."""
    assert run.state.is_completed()
    assert run.bytes == tree(folder / "serial" / "out")


def test_every_kind_of_dedup_gives_the_bytes_of_the_library(tmp_path: Path) -> None:
    """Screens, spans and earlier data have tasks of their own: each must hand on what the library does."""
    texts = [text for text in small_corpus(200) if 500 < len(text) < 5000][:36]
    question, notice = texts[5][100:400], "A paragraph that all of them have."
    (tmp_path / "questions.txt").write_text(question.replace("\n", " "))
    write_documents(tmp_path / "old" / "in" / "a.jsonl", texts[:4])
    old = asked(tmp_path / "old", "run", split={"kind": "none"})
    pipeline.prepare(old)
    for number in range(SHARDS):
        near = [f"{text} And one more." for text in texts[(number + 1) % SHARDS :: 9]]
        parts = [f"{notice}\n\n{text}" for text in texts[number::SHARDS]]
        write_documents(tmp_path / "in" / f"{number}.jsonl.gz", [*parts, *near, texts[8], f"Top\n\n{notice}"])
    spans = {"kind": "paragraph", "min_bytes": 20, "separator": "\n"}
    screen = {"kind": "decontaminate", "paths": [str(tmp_path / "questions.txt")]}
    kinds = [{"kind": "exact"}, {"kind": "minhash"}, screen, spans]
    settings: dict[str, Any] = {"dedup": kinds, "against": [old.destination], "keep_copy": "content"}
    manifest = pipeline.prepare(asked(tmp_path, "serial", **settings))
    assert set(manifest.dropped) >= {"contaminated", "duplicate_exact", "duplicate_minhash", "little_left"}
    made = Run(asked(tmp_path, "flow", **settings))
    assert made.state.is_completed()
    assert made.bytes == tree(tmp_path / "serial" / "out")
    named = {f"{stage}-shard-{number:05d}" for stage in ("sign-spans", "trim") for number in range(SHARDS)}
    assert made.tasks({"recall-00000", "find-spans-00000", *named})


def test_a_mixture_gives_the_bytes_of_the_library(tmp_path: Path) -> None:
    """One more task stands between tokenizing and packing, and both formats must pack what it says."""
    texts = small_corpus(60)
    for source, part in {"web": texts[:40], "books": texts[40:]}.items():
        write_documents(tmp_path / source / "a.jsonl", part)
    settings: dict[str, Any] = {
        "sources": [{"kind": "files", "name": name, "paths": [str(tmp_path / name)]} for name in ("web", "books")],
        "formats": [{"kind": "nanogpt"}, {"kind": "nanochat_text"}],
        "split": {"fraction": 0.3},
        "mix": {"web": 0.4, "books": 0.6},
        "max_repetition": 2.5,
    }
    manifest = pipeline.prepare(asked(tmp_path, "serial", **settings))
    assert manifest.totals["repeated_documents"] > 0 < manifest.dropped["not_mixed"]
    made = Run(asked(tmp_path, "flow", **settings))
    assert made.state.is_completed()
    placed = {"manifest.json", "manifests/g00001.json", "nanochat_text/settings.txt"}  # settings name their folder
    wanted = tree(tmp_path / "serial" / "out")
    assert made.bytes.keys() == wanted.keys() > placed
    assert {name for name in wanted if made.bytes[name] != wanted[name]} == placed
    assert made.tasks({"mix"})["mix"].run_count == 1
    (row,) = [row for row in json.loads(made.artifacts()["mix-report"]) if row["source"] == "books"]
    assert row["tokens"] == manifest.sources["books"]["train_tokens"]


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
    named |= {"find-00000": "find", "decide": "decide", "vocabulary": "vocabulary", "order": "order"}
    named |= {"plan": "plan", "publish": "publish"}
    tasks = run.tasks(named)
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
    assert artifacts["corpus-report"] == summary(manifest, SUM_DIGITS)
    assert artifacts["progress"] == 100.0


def test_artifacts_tell_rules_copies_and_time(run: Run) -> None:
    """Time differs between runs, so no published file has it; whoever asks finds it on the server."""
    manifest = read_manifest(Path(run.config.destination))
    artifacts = run.artifacts()
    lost = json.loads((Path(run.config.destination) / "report" / "ledger.json").read_bytes())
    assert json.loads(artifacts["ledger-report"]) == escaped(lost)
    assert {row["reason"] for row in lost} >= set(manifest.dropped)
    assert [row["rule"] for row in json.loads(artifacts["health-report"])] == [rule.rule for rule in manifest.rules]
    assert [row["source"] for row in json.loads(artifacts["source-report"])] == ["web"]
    assert "| dedup | exact | duplicate_exact | 3 |" in artifacts["duplicates-report"]
    stages = {row["stage"]: row for row in json.loads(artifacts["timing-report"])}
    assert stages["tokenize"]["done"] == f"{SHARDS}/{SHARDS}"
    assert stages["tokenize"]["tokens"] == f"{manifest.totals['tokens']:,}"
    assert stages["clean"]["time"].endswith(" s")
    page = (Path(run.config.destination) / "report" / "index.html").absolute().as_uri()
    assert page in artifacts["report-page"]
    assert not [key for key in artifacts if key.startswith("failure-")]


def test_a_second_run_reuses_everything(run: Run) -> None:
    """A flow that is run again by a schedule must not rewrite what a trainer reads."""
    before = run.bytes
    reports = {path: path.stat().st_mtime_ns for path in Path(run.config.execution.work).glob("*/*/report.json")}
    again = Run(run.config)
    assert again.state.is_completed()
    assert run.bytes == before
    assert {path: path.stat().st_mtime_ns for path in reports} == reports


def test_a_worker_killed_at_work_is_replaced(folder: Path) -> None:
    """The kernel kills the biggest process when memory runs out: that shard is tried again, no other, no byte lost."""
    config = asked(folder, "killed")
    killed: list[int] = []

    def kill() -> None:
        killed.append(busy_worker(Path(config.execution.work), "tokenize"))
        worker = psutil.Process(killed[0])
        assert "gristmill.processes.child" in worker.cmdline()
        worker.kill()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    made = Run(config)
    killer.join(1)
    assert killed
    assert made.state.is_completed()
    assert made.bytes == tree(folder / "serial" / "out")
    names = [f"tokenize-shard-{number:05d}" for number in range(SHARDS)]
    counts = {name: task.run_count for name, task in made.tasks(names).items()}
    again = {name: count for name, count in counts.items() if count != 1}
    assert len(again) == 1, again
    assert next(iter(again)).startswith("tokenize-shard-")


def test_a_damaged_file_fails_the_run_after_the_others_and_is_not_tried_again(tmp_path: Path) -> None:
    """One bad upload of 10,000: the others must not wait for it to be mended, nor be done again afterwards."""
    corpus(tmp_path)
    bad = cut_short(tmp_path / "in" / "1.jsonl.gz")
    failed = Run(asked(tmp_path, "run"))
    assert failed.state.is_failed()
    error = failed.state.result(raise_on_failure=False)
    assert isinstance(error, InputError)
    assert str(bad) in str(error)
    names = [f"ingest-shard-{number:05d}" for number in range(SHARDS)]
    tasks = failed.tasks([*names, "fetch-shard-00001", *(f"sign-shard-{number:05d}" for number in (0, 2, 3))])
    states = {name: (task.state_type.value, task.run_count) for name, task in tasks.items() if task.state_type}
    assert states["fetch-shard-00001"] == states["ingest-shard-00001"] == ("FAILED", 1)
    for number in (0, 2, 3):
        assert states[f"sign-shard-{number:05d}"] == ("COMPLETED", 1)
    assert not Path(failed.config.destination).exists()

    left_out = Run(asked(tmp_path, "run", on_bad_file="quarantine"))
    assert left_out.state.is_completed()
    manifest = read_manifest(Path(left_out.config.destination))
    assert [shard.uri for shard in manifest.source_shards if shard.error] == [str(bad)]
    assert manifest.totals["input_documents"] == 42 * (SHARDS - 1)
    artifacts = left_out.artifacts()
    assert [key for key in artifacts if key.startswith("failure-")] == ["failure-shard-00001"]
    assert "1.jsonl.gz" in artifacts["failure-shard-00001"]
    row = json.loads(artifacts["input-report"])[1]
    assert row["documents"] == row["kept"] == 0
    assert "1.jsonl.gz" in row["error"]
    serial_config = asked(tmp_path, "serial", on_bad_file="quarantine")
    pipeline.prepare(serial_config)
    assert left_out.bytes == tree(Path(serial_config.destination))


def poisoned(folder: Path, stage: str, **settings: Any) -> tuple[Run, list[str], str]:
    """A run in which every worker dies that is at work on one shard; the stages where it did, and the shard's file."""
    corpus(folder)
    execution = {"work": str(folder / "run" / "work"), "workers": 2, "retries": 1}
    config = asked(folder, "run", execution=execution, **settings)
    poison = key_of(config.model_dump(mode="json"), stage)
    trap = Trap(folder, [f"{stage}/{poison}"], signal.SIGKILL, ALWAYS)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in trap.environment.items():
            patch.setenv(name, value)
        made = Run(config)
    return made, trap.hits(), str(folder / "in" / f"{POISONED}.jsonl.gz")


@pytest.mark.parametrize("stage", ["fetch", "clean"])
def test_a_shard_that_no_worker_survives_is_left_out_by_name(tmp_path: Path, stage: str) -> None:
    """One document that takes all memory must not stop a corpus whose owner said that files may be left out."""
    made, hits, bad = poisoned(tmp_path, stage, on_bad_file="quarantine")
    assert hits == [stage] * 2, "tried again once, in a fresh process"
    assert made.state.is_completed()
    manifest = read_manifest(Path(made.config.destination))
    (left_out,) = [shard for shard in manifest.source_shards if shard.error]
    assert left_out.error == (
        f"{bad}: {stage}-shard-{POISONED:05d}: the worker process was killed by signal 9 "
        "(out of memory? use fewer --workers)"
    )
    assert left_out.documents == left_out.kept == 0
    assert manifest.totals["input_documents"] == 42 * (SHARDS - 1)
    artifacts = made.artifacts()
    assert bad in json.loads(artifacts["input-report"])[POISONED]["error"]
    assert "## Input shards that were left out" in artifacts["corpus-report"]


def test_a_shard_that_no_worker_survives_fails_the_run_by_name(tmp_path: Path) -> None:
    """Without leave to do without it, the run must end, say which file it was, and publish nothing."""
    made, hits, bad = poisoned(tmp_path, "fetch")
    assert hits == ["fetch"] * 2, "tried again once, not once more for each task around it"
    assert made.state.is_failed()
    error = made.state.result(raise_on_failure=False)
    assert isinstance(error, WorkerLost)
    assert str(error).startswith(f"{bad}: fetch-shard-")
    assert not Path(made.config.destination).exists()


class Flaky(BaseHTTPRequestHandler):
    """A store that answers 503 once: to the first request for content after something stands in ``work``."""

    work: Path
    data: bytes
    log: list[int]

    def do_HEAD(self) -> None:
        self._answer(200, b"")

    def do_GET(self) -> None:
        failing = 503 not in self.log and any(self.work.glob("*"))
        self._answer(503 if failing else 200, b"busy" if failing else self.data)

    def _answer(self, status: int, body: bytes) -> None:
        if self.command == "GET":
            self.log.append(status)
        self.send_response(status)
        self.send_header("Content-Length", str(len(self.data if self.command == "HEAD" else body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""


@contextmanager
def flaky_store(data: bytes, work: Path) -> Iterator[tuple[str, list[int]]]:
    log: list[int] = []
    handler = type("Handler", (Flaky,), {"work": work, "data": data, "log": log})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/a.jsonl", log
    server.shutdown()


def test_a_store_that_fails_once_is_asked_again(tmp_path: Path) -> None:
    """A storage service has a bad second a day; a run of a week must not end with it."""
    data = write_documents(tmp_path / "a.jsonl", ["one", "two"]).read_bytes()
    with flaky_store(data, tmp_path / "run" / "work" / "fetch") as (address, log):
        source = {"kind": "files", "name": "web", "paths": [address]}
        made = Run(asked(tmp_path, "run", sources=[source], split={"kind": "none"}))
    assert made.state.is_completed(), made.state.message
    assert 503 in log
    assert sorted(documents_of(Path(made.config.destination) / "nanogpt" / "train.bin")) == ["one", "two"]
    assert made.tasks(["fetch-shard-00000"])["fetch-shard-00000"].run_count == 2
