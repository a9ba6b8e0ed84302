"""A run that was killed, damaged or asked for something else goes on from what stands, with the same bytes."""

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from corpora import request, tree, write_documents
from data import GPT2
from soak.bench import Runner

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.phases.dedup import decide_copies
from gristmill.phases.ingest import ingest
from gristmill.runners.in_process import IN_PROCESS
from gristmill.stages.ingest.fetch import fetch
from gristmill.stages.ingest.generations import Earlier
from gristmill.stages.ingest.plan import listed
from gristmill.storage import disk
from gristmill.types import Plan

KILLS = 4


def corpus(folder: Path) -> None:
    for number in range(4):
        texts = [f"shard {number} document {row % 40}: {row * number}" for row in range(60)]
        write_documents(folder / "in" / f"{number}.jsonl.gz", [*texts, "the same everywhere", " "])


def asked(folder: Path, name: str, **settings: Any) -> PrepareConfig:
    """A configuration over the corpus of ``folder`` with a work area and output of its own."""
    place = {"output": str(folder / name / "out"), "execution": {"work": str(folder / name / "work")}}
    rest = {"dedup": [{"kind": "exact"}], "ordering": {"kind": "nanogpt"}, "split": {"fraction": 0.1}}
    return request(folder, **{**rest, **place, **settings})


def standing(work: Path) -> dict[str, tuple[int, int]]:
    """Every finished stage output with what changes when it is made again."""
    found = {}
    for report in work.glob("*/*/report.json"):
        if not report.parent.name.startswith(".tmp-"):
            status = report.stat()
            found[report.parent.relative_to(work).as_posix()] = (status.st_ino, status.st_mtime_ns)
    return found


def made_anew(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> Counter[str]:
    """How many outputs of each stage are new or were replaced."""
    return Counter(name.partition("/")[0] for name, mark in after.items() if before.get(name) != mark)


def test_what_was_finished_before_a_kill_is_not_made_again(tmp_path: Path) -> None:
    """Resuming that begins from the front would never end where machines are taken away every hour."""
    corpus(tmp_path)
    calm = asked(tmp_path, "calm")
    pipeline.prepare(calm)
    every = standing(Path(calm.execution.work))
    runner = Runner()
    sizes = set()
    for number in range(KILLS):
        config = asked(tmp_path, f"killed-{number}")
        document = config.model_dump(mode="json")
        assert runner.run(document, call=60 + 80 * number).status == -signal.SIGKILL
        before = standing(Path(config.execution.work))
        sizes.add(len(before))
        assert runner.run(document).status == 0
        assert tree(Path(config.destination)) == tree(Path(calm.destination))
        after = standing(Path(config.execution.work))
        assert {name: after[name] for name in before} == before
        assert made_anew({}, after) == made_anew({}, every)
    runner.close()
    assert len(sizes) > KILLS // 2, "the kills must fall at different moments"


def test_files_of_other_rules_are_not_published_along(tmp_path: Path) -> None:
    """Killed, then run without a split into the same folder: the old validation file would be taken for held out, while
    its documents are in the train file."""
    corpus(tmp_path)
    config = asked(tmp_path, "run")
    pipeline.prepare(config)
    output = Path(config.destination)
    unpublished(config)
    for path in [output / "nanogpt" / "train.bin", output / "report" / "summary.md"]:
        path.unlink()  # as far as a run comes that is killed between its files
    left = output / "documents" / "nanogpt" / "val.bin"
    (output / "nanogpt" / "val.bin").unlink()
    with pytest.raises(ConfigError, match=re.escape(str(left))):
        pipeline.prepare(asked(tmp_path, "run", split={"kind": "none"}))
    assert not (output / "manifest.json").exists()
    left.unlink()
    pipeline.prepare(asked(tmp_path, "run", split={"kind": "none"}))


def test_a_temporary_of_a_dead_process_is_removed_from_the_output(tmp_path: Path) -> None:
    """A kill while a file is published leaves gigabytes beside it that nobody would ever look for."""
    corpus(tmp_path)
    config = asked(tmp_path, "run")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    folder = Path(config.destination) / "nanogpt"
    folder.mkdir(parents=True)
    (folder / disk.temporary("train.bin", dead.pid)).write_bytes(b"half")
    (folder / disk.temporary("other.bin")).write_bytes(b"another run's")
    pipeline.prepare(config)
    assert [path.name for path in folder.glob(".tmp-*")] == [disk.temporary("other.bin")]


def test_a_finished_run_does_nothing_again(tmp_path: Path) -> None:
    """A rerun that does work again is a rerun that may change bytes that a training run is reading."""
    corpus(tmp_path)
    config = asked(tmp_path, "run")
    pipeline.prepare(config)
    before, bytes_before = standing(Path(config.execution.work)), tree(Path(config.destination))
    again = Plan(generation=1, shards=listed(config).shards, removed=[], first_rows=[])
    done = ingest(again, config, IN_PROCESS)
    decided = decide_copies(done, Earlier(signed=[], files=[]), config, IN_PROCESS).decided
    assert all(report.reused for report in [*done.fetched, *done.cleaned, *done.signed, decided])
    pipeline.prepare(config)
    assert standing(Path(config.execution.work)) == before
    assert tree(Path(config.destination)) == bytes_before


def test_another_tokenizer_redoes_only_what_depends_on_it(tmp_path: Path) -> None:
    """Cleaning a terabyte again to try another vocabulary is days lost."""
    corpus(tmp_path)
    first = asked(tmp_path, "run")
    pipeline.prepare(first)
    work = Path(first.execution.work)
    before = standing(work)
    tokenizer = {"kind": "huggingface", "path": str(GPT2)}
    other = asked(tmp_path, "run", tokenizer=tokenizer, output=str(tmp_path / "other"))
    pipeline.prepare(other)
    assert made_anew(before, standing(work)) == {"vocabulary": 1, "tokenize": 4, "pack": 2, "upload": 2}


def test_one_source_with_other_rules_redoes_only_that_source(tmp_path: Path) -> None:
    """Per-source rules are there to be tuned: the other sources must not pay for it until documents meet."""
    corpus(tmp_path)
    write_documents(tmp_path / "books" / "a.jsonl", ["a  book", "another book"])

    def two(rules: list[dict[str, Any]], output: str) -> PrepareConfig:
        web = {"kind": "files", "name": "web", "paths": [str(tmp_path / "in")]}
        books = {"kind": "files", "name": "books", "paths": [str(tmp_path / "books")], "cleaning": rules}
        return asked(tmp_path, "run", sources=[web, books], output=str(tmp_path / output))

    first = two([], "one")
    pipeline.prepare(first)
    work = Path(first.execution.work)
    before = standing(work)
    pipeline.prepare(two([{"kind": "length", "min_chars": 8}], "two"))
    made = made_anew(before, standing(work))
    assert {stage: made[stage] for stage in ("fetch", "clean", "sign", "vocabulary")} == {
        "fetch": 0,
        "clean": 1,
        "sign": 1,
        "vocabulary": 0,
    }


def test_a_new_file_redoes_no_other_file(tmp_path: Path) -> None:
    """A file that sorts to the front renumbers every shard; what was made of them is still good, and still exact."""
    corpus(tmp_path)
    path = tmp_path / "in" / "1.jsonl.gz"
    write_documents(path, ["kept"] * 3)
    config = asked(tmp_path, "run", max_quarantined_share=1.0)
    with_bad = tmp_path / "in" / "2.jsonl"
    with_bad.write_text('{"text": "good"}\n{"text": 7}\n')
    pipeline.prepare(config)
    before = standing(Path(config.execution.work))
    write_documents(tmp_path / "in" / "0-new.jsonl", ["new in front"])
    grown = asked(tmp_path, "run", max_quarantined_share=1.0, output=str(tmp_path / "grown"))
    pipeline.prepare(grown)
    made = made_anew(before, standing(Path(config.execution.work)))
    assert (made["fetch"], made["clean"], made["sign"]) == (1, 1, 1)
    fresh = asked(tmp_path, "fresh", max_quarantined_share=1.0)
    pipeline.prepare(fresh)
    assert tree(tmp_path / "grown") == tree(Path(fresh.destination))


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    """A resume that trusts the name alone publishes yesterday's text."""
    corpus(tmp_path)
    config = asked(tmp_path, "run")
    pipeline.prepare(config)
    write_documents(tmp_path / "in" / "2.jsonl.gz", ["corrected"])
    reused = [fetch(shard, config).reused for shard in listed(config).shards]
    assert reused == [True, True, False, True]


def cut_last_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def garble(path: Path) -> None:
    path.write_bytes(bytes([255, 254]) + b"{")


def lie(path: Path) -> None:
    """A count that no longer adds up, as one flipped bit makes it."""
    report = json.loads(path.read_bytes())
    report["report"]["docs_in"] += 1
    path.write_text(json.dumps(report))


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [cut_last_byte, flip_a_bit, Path.unlink])
def test_a_damaged_artifact_is_made_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """A disk that filled up or a copy that stopped must cost one stage of one shard, not the data set."""
    check_damage(tmp_path, lambda folder: [path for path in folder.iterdir() if path.name != "report.json"], damage)


@pytest.mark.parametrize("damage", [cut_last_byte, flip_a_bit, garble, lie, Path.unlink])
def test_an_output_with_a_damaged_report_is_made_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """The report is the only meaning of done: one that cannot be trusted must neither count nor stop every rerun."""
    check_damage(tmp_path, lambda folder: [folder / "report.json"], damage)


def unpublished(config: PrepareConfig) -> None:
    """Take back the last step, so that the run has to look at everything again."""
    for name in ("manifest.json", "manifests/g00001.json"):
        (Path(config.destination) / name).unlink()
    disk.write(Path(config.destination) / "unfinished.json", b'{"dataset":"test"}')


def check_damage(folder: Path, chosen: Callable[[Path], Iterable[Path]], damage: Callable[[Path], None]) -> None:
    """Damage the chosen files of one output of every stage; all of them are made again, and nothing else is."""
    corpus(folder)
    config = asked(folder, "run")
    pipeline.prepare(config)
    wanted, work = tree(Path(config.destination)), Path(config.execution.work)
    before = standing(work)
    hurt = set()
    for stage in sorted(work.iterdir()):
        output = min(stage.iterdir())
        for path in chosen(output):
            damage(path)
            hurt.add(output.relative_to(work).as_posix())
    assert hurt
    unpublished(config)
    pipeline.prepare(config)
    assert tree(Path(config.destination)) == wanted
    assert {name for name, mark in standing(work).items() if before[name] != mark} == hurt
    assert not list(work.glob("*/.tmp-*"))
