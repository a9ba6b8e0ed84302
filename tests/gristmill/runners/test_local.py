"""The runner of one machine: the bytes of the library, whatever happens to its child processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import chores
import psutil
import pytest
from big_file import BigFile, big_file
from busy import busy_worker
from corpora import cut_short, reports, request, small_corpus, tree, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import InputError, StorageError
from gristmill.runners import local
from gristmill.runners.local import local_runner
from gristmill.types import Manifest

SHARDS = 4
SUPPORT = Path(chores.__file__).parent


def asked(folder: Path, name: str, **settings: Any) -> PrepareConfig:
    place = {"output": str(folder / name / "out"), "execution": {"work": str(folder / name / "work"), "workers": 2}}
    rest = {"dedup": [{"kind": "exact"}], "ordering": {"kind": "hashed"}, "split": {"fraction": 0.1}}
    return request(folder, **{**rest, **place, **settings})


def made_locally(config: PrepareConfig) -> Manifest:
    with local_runner(config.execution) as runner:
        return pipeline.prepare(config, runner)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds a corpus, and its data set made in this process below ``serial/``."""
    found = tmp_path_factory.mktemp("local")
    texts = small_corpus(40 * SHARDS)
    for number in range(SHARDS):
        part = texts[number * 40 : number * 40 + 40]
        write_documents(found / "in" / f"{number}.jsonl.gz", [*part, "the same in every file", " "])
    pipeline.prepare(asked(found, "serial"))
    return found


def test_every_kind_of_stage_gives_the_bytes_of_this_process(tmp_path: Path) -> None:
    """Screens, spans, earlier data, a mixture and a format of text: each has calls that a runner could leave out."""
    texts = [text for text in small_corpus(200) if 500 < len(text) < 5000][:36]
    notice = "A paragraph that all of them have."
    (tmp_path / "questions.txt").write_text(texts[5][100:400].replace("\n", " "))
    write_documents(tmp_path / "old" / "in" / "a.jsonl", texts[:4])
    old = asked(tmp_path / "old", "run", split={"kind": "none"})
    pipeline.prepare(old)
    for number, source in enumerate(("web", "web", "books", "books")):
        parts = [f"{notice}\n\n{text}" for text in texts[number::SHARDS]]
        write_documents(tmp_path / source / f"{number}.jsonl.gz", [*parts, texts[8], f"Top\n\n{notice}"])
    spans = {"kind": "paragraph", "min_bytes": 20, "separator": "\n"}
    screen = {"kind": "decontaminate", "paths": [str(tmp_path / "questions.txt")]}
    settings: dict[str, Any] = {
        "sources": [{"kind": "files", "name": name, "paths": [str(tmp_path / name)]} for name in ("web", "books")],
        "dedup": [{"kind": "exact"}, {"kind": "minhash"}, screen, spans],
        "against": [old.destination],
        "formats": [{"kind": "nanogpt"}, {"kind": "nanochat_text", "world_size": 1}],
        "mix": {"web": 0.3, "books": 0.7},
        "max_repetition": 2.5,
    }
    wanted = pipeline.prepare(asked(tmp_path, "serial", **settings))
    assert set(wanted.dropped) >= {"contaminated", "duplicate_exact", "little_left"}
    assert wanted.totals["repeated_documents"] > 0
    made_locally(asked(tmp_path, "local", **settings))
    placed = {"manifest.json", "manifests/g00001.json", "nanochat_text/settings.txt"}  # settings name their folder
    ours, theirs = tree(tmp_path / "local" / "out"), tree(tmp_path / "serial" / "out")
    assert ours.keys() == theirs.keys() > placed
    assert {name for name in theirs if ours[name] != theirs[name]} == placed


def test_a_tokenizer_is_trained_to_the_same_file(folder: Path) -> None:
    """The second job of the pipeline has a runner too."""
    made = {}
    for name in ("trained", "trained-locally"):
        config = asked(folder, name, tokenizer={"kind": "train", "vocab_size": 300})
        if name == "trained":
            pipeline.train_tokenizer(config)
        else:
            with local_runner(config.execution) as runner:
                pipeline.train_tokenizer(config, runner)
        made[name] = (Path(config.destination) / "tokenizer" / "tokenizer.json").read_bytes()
    assert made["trained"] == made["trained-locally"]


def test_a_piece_is_cleaned_while_its_file_is_read(tmp_path: Path) -> None:
    """Workers that wait for the end of a big file: one of them would be all there is."""
    with big_file(tmp_path) as big:
        pipeline.prepare(big.asked("serial"))
        config = big.asked("local")
        sent = sent_after_pieces(big, Path(config.execution.work))
        made_locally(config)
        assert tree(tmp_path / "local" / "out") == tree(tmp_path / "serial" / "out")
    (piece,) = [
        report for report in reports(config) if report.stage == "sign" and report.shard == 1 and not report.piece
    ]
    assert sent == [1]
    cleaned = [report.piece for report in reports(config) if report.stage == "clean" and report.shard == 1]
    assert sorted(cleaned) == [0, 1]
    assert piece.docs_out


def sent_after_pieces(big: BigFile, work: Path) -> list[int]:
    """Send the second half of the file when a piece of the first is signed; how often that was."""
    sent: list[int] = []

    def between() -> None:
        end = time.monotonic() + 60
        while len(list(work.glob("sign/[!.]*/report.json"))) < 2:  # of the small file beside it, and of the piece
            if time.monotonic() > end:
                return
            time.sleep(0.01)
        sent.append(1)

    big.change(between=between)
    return sent


def test_a_child_killed_at_work_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel kills the biggest process when memory runs out: that call is tried again, and no byte is lost."""
    monkeypatch.setattr(local, "DELAYS", (0.01,))
    config = asked(folder, "killed")
    killed: list[int] = []

    def kill() -> None:
        killed.append(busy_worker(Path(config.execution.work), "tokenize"))
        psutil.Process(killed[0]).kill()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with local_runner(config.execution) as runner:
        pipeline.prepare(config, runner)
        rows = {row["stage"]: row for row in runner.display.rows()}
    killer.join(1)
    assert killed
    assert killed[0] != os.getpid()
    assert (rows["tokenize"]["done"], rows["tokenize"]["retries"]) == (f"{SHARDS}/{SHARDS}", "1")
    assert tree(folder / "killed" / "out") == tree(folder / "serial" / "out")


COMMAND = """
import json, sys
from gristmill import config, pipeline
from gristmill.runners.local import local_runner
asked = config.parse(json.load(open(sys.argv[1])))
with local_runner(asked.execution) as runner:
    pipeline.prepare(asked, runner)
"""


def test_ctrl_c_stops_a_run_at_once_and_the_next_one_completes_it(folder: Path, tmp_path: Path) -> None:
    """A terminal that is lost until the longest shard is done, children that go on writing, work that is lost."""
    config = asked(folder, "stopped")
    work = Path(config.execution.work)
    request_file = tmp_path / "request.json"
    request_file.write_text(json.dumps(config.model_dump(mode="json")))
    command = [sys.executable, "-c", COMMAND, str(request_file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        busy_worker(work, "tokenize")
        children = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < 5
    assert process.returncode == -signal.SIGINT, errors.decode()
    assert children
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
    assert not Path(config.destination, "manifest.json").exists()
    fetched = list(work.glob("fetch/*/report.json"))
    before = {path: path.stat().st_mtime_ns for path in fetched}
    assert len(before) == SHARDS
    subprocess.run(command, check=True, capture_output=True)
    assert {path: path.stat().st_mtime_ns for path in fetched} == before
    assert tree(Path(config.destination)) == tree(folder / "serial" / "out")


def test_a_damaged_file_is_named_after_all_others_were_tried(tmp_path: Path) -> None:
    """One bad upload of 10,000 must not cost the work on the others, nor be tried again."""
    for number in range(3):
        write_documents(tmp_path / "in" / f"{number}.jsonl.gz", small_corpus(30)[number * 10 : number * 10 + 10])
    bad = cut_short(tmp_path / "in" / "0.jsonl.gz")
    config = asked(tmp_path, "local")
    with pytest.raises(InputError, match=bad.name):
        made_locally(config)
    assert sorted(report.shard for report in reports(config) if report.stage == "sign") == [1, 2]
    left_out = {"on_bad_file": "quarantine"}
    wanted = pipeline.prepare(asked(tmp_path, "serial", **left_out))
    assert [bool(shard.error) for shard in wanted.source_shards] == [True, False, False]
    assert made_locally(asked(tmp_path, "local", **left_out)).sha256 == wanted.sha256


def test_a_storage_error_is_tried_as_often_as_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is away for a second must not end a night's run, one that is gone must."""
    monkeypatch.setattr(local, "DELAYS", (0.01,))
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    config = asked(tmp_path, "gone", execution={"work": "gone", "retries": 2})
    with local_runner(config.execution) as runner:
        with pytest.raises(StorageError, match="gone: gone"):
            runner.each([partial(chores.lose_the_disk, config=config)])
        (row,) = runner.display.rows()
    assert (row["done"], row["retries"]) == ("0/1", "3")
