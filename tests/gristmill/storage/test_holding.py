"""One run at a time: a claim on an output names its run, and is gone with it."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from corpora import request, write_documents
from object_store import Bucket, reached, sha256

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import BusyError, ConfigError
from gristmill.inspection.verify import verify
from gristmill.manifest import read_manifest
from gristmill.stages.ingest.plan import plan
from gristmill.stages.output.claiming import claimed
from gristmill.storage import claims, holding, s3, stores
from gristmill.storage.claims import UNFINISHED, Claim, claim_of

HOLD = """
import sys, time
from gristmill.storage import claims
from gristmill.storage import holding
with holding.held(sys.argv[1], claims.claim_of("test", 1, "rules", sys.argv[2]), print, print):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(output: str, given: str = "theirs") -> Iterator[subprocess.Popen[str]]:
    """A process that holds the output until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, output, given], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def mine(given: str = "mine", dataset: str = "test") -> Claim:
    return claim_of(dataset, 1, "rules", given)


def hold(output: str, claim: Claim) -> Any:
    return holding.held(output, claim, lambda _: None, lambda: False)


@pytest.fixture
def config(tmp_path: Path) -> PrepareConfig:
    write_documents(tmp_path / "in" / "a.jsonl", ["one", "two"])
    return request(tmp_path)


@pytest.fixture
def leased(bucket: Bucket) -> Iterator[str]:
    """An output in a store where a lease lasts for a second."""
    with reached(bucket.server.endpoint, lease_seconds=1):
        yield f"{bucket.uri}/out"


def test_a_second_run_with_other_input_is_refused_by_name(config: PrepareConfig, tmp_path: Path) -> None:
    """Each replaced the other's files after its last check, and both ended well with a manifest of neither."""
    with claimed(plan(config), config) as claim:
        write_documents(tmp_path / "in" / "b.jsonl", ["three"])
        with pytest.raises(BusyError) as caught:
            pipeline.prepare(config)
    assert claim.process in str(caught.value)
    assert f"configuration {claim.configuration[:8]}, input {claim.input[:8]}" in str(caught.value)
    assert re.search("let it end and run again .* or choose another --output$", str(caught.value))
    assert pipeline.prepare(config).totals["documents"] == 3


def test_another_data_set_is_refused_by_name(tmp_path: Path) -> None:
    output = str(tmp_path / "out")
    with (
        hold(output, mine()),
        pytest.raises(BusyError, match="data set 'test' is being made there by process"),
        hold(output, mine(dataset="other")),
    ):
        pass


def test_runs_that_make_the_same_share_a_claim(tmp_path: Path) -> None:
    """The same command given twice, as by a scheduler that saw no answer, makes one data set and two good ends."""
    output, claim = str(tmp_path / "out"), mine()
    with hold(output, claim):
        with hold(output, claim):
            pass
        with holding.putting(output, claim), pytest.raises(BusyError), hold(output, mine("other")):
            pass
    assert not (tmp_path / "out" / UNFINISHED).exists()


def test_a_killed_run_blocks_nobody(tmp_path: Path) -> None:
    """A machine that ran out of memory at night must not need somebody to remove a file in the morning."""
    output = str(tmp_path / "out")
    with holder(output) as theirs:
        with pytest.raises(BusyError, match=f"process {theirs.pid} on "), hold(output, mine()):
            pass
        theirs.send_signal(signal.SIGKILL)
        began = time.monotonic()
        with hold(output, mine()):
            assert time.monotonic() - began < holding.PATIENCE
            found = claims.found(output)
            assert found is not None
            assert found.run == mine().run


def test_a_claim_of_a_failed_run_stays_for_its_files(tmp_path: Path) -> None:
    """They give way to the next run of the data set, and not to another data set."""
    output = str(tmp_path / "out")
    stores.at(output).publish("nanogpt/train.bin", [], b"x")
    with pytest.raises(ZeroDivisionError), hold(output, mine()):
        raise ZeroDivisionError
    with pytest.raises(ConfigError, match="has files of data set 'test', whose run was stopped"):
        hold(output, mine(dataset="other")).__enter__()
    with hold(output, mine("other")):
        pass
    assert claims.found(output) is None


def test_files_of_a_stopped_run_that_the_next_one_does_not_have_are_removed(config: PrepareConfig) -> None:
    """It stopped with more input or another format: a trainer's glob would read its files along."""
    place = stores.at(config.destination)
    for name in ("report/quarantine/shard-00007.jsonl.zst", "nanogpt/val.bin", "notes.txt", UNFINISHED):
        place.publish(name, [], msgspec.json.encode(mine()))
    pipeline.prepare(config)
    assert verify(config.destination).problems == []
    names = place.names()
    assert "nanogpt/val.bin" not in names
    assert "report/quarantine/shard-00007.jsonl.zst" not in names
    assert "notes.txt" in names


def test_an_output_that_is_moved_away_is_missed_by_name(tmp_path: Path) -> None:
    output, claim = tmp_path / "out", mine()
    with hold(str(output), claim):
        output.rename(tmp_path / "elsewhere")
        with pytest.raises(BusyError, match=r"out/unfinished\.json: gone .* moved or removed; put it back"):
            holding.putting(str(output), claim).__enter__()
        (tmp_path / "elsewhere").rename(output)
        with holding.putting(str(output), claim):
            pass


def test_a_claim_that_comes_between_two_looks_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finds no claim, and then finds it made, must read it."""
    output, claim = str(tmp_path / "out"), mine()
    folder = type(stores.at(output))
    read = folder.read

    def late(*_: Any) -> bytes:
        monkeypatch.setattr(folder, "read", read)
        stores.at(output).publish(UNFINISHED, [], msgspec.json.encode(claim))
        raise ConfigError("no such object")

    monkeypatch.setattr(folder, "read", late)
    assert claims.found(output) == claim


def test_a_run_that_was_planned_before_another_ended_says_so(config: PrepareConfig, tmp_path: Path) -> None:
    """Its plan names a generation that is taken: hours later its files would be in the way of the others'."""
    early = plan(config)
    write_documents(tmp_path / "in" / "b.jsonl", ["three"])
    pipeline.prepare(config)
    with pytest.raises(BusyError, match="another run finished generation 1 meanwhile; run again"):
        claimed(early, config).__enter__()
    assert claims.found(config.destination) is None


def test_a_lease_is_kept_while_its_run_lives_and_ends_after_it(leased: str) -> None:
    """Nobody unlocks an object when its process is killed; a store must not be blocked by it for ever."""
    with holder(leased) as theirs:
        with pytest.raises(BusyError, match=f"process {theirs.pid} on "), hold(leased, mine()):
            pass
        theirs.send_signal(signal.SIGKILL)
        with hold(leased, mine()), holding.putting(leased, mine()):
            found = claims.found(leased)
            assert found is not None
            assert found.run == mine().run
    assert claims.found(leased) is None


def test_a_run_that_lost_its_lease_changes_nothing_more(leased: str) -> None:
    """A machine that slept for an hour wakes up in the middle of a run that another one has finished meanwhile."""
    with holder(leased) as theirs:
        theirs.send_signal(signal.SIGSTOP)
        with hold(leased, mine()), pytest.raises(BusyError, match="another run has taken the output over: process"):
            holding.decide(leased, mine("theirs"), b"{}")
        theirs.send_signal(signal.SIGCONT)
        time.sleep(0.6)
        assert claims.found(leased) is None


def test_what_a_killed_run_had_decided_is_put_by_the_next(leased: str, config: PrepareConfig) -> None:
    """A run is killed between its decision and its manifest: the next one must not replace the files under it."""
    asked = config.model_copy(update={"output": leased})
    pipeline.prepare(asked)
    place = stores.at(leased)
    decided = place.read("manifest.json")
    for name in ("manifest.json", "manifests/g00001.json"):
        place.remove(name)
    left = msgspec.structs.replace(mine(), decided=decided.decode())
    place.publish(UNFINISHED, [], msgspec.json.encode(left))
    write_documents(Path(config.execution.work).parent / "in" / "b.jsonl", ["three"])
    with pytest.raises(BusyError, match="another run finished generation 1 meanwhile; run again"):
        pipeline.prepare(asked)
    assert len(read_manifest(leased).generations) == 1
    assert pipeline.prepare(asked).totals["documents"] == 3
    assert verify(leased).problems == []


def test_an_object_is_replaced_only_by_whoever_has_seen_it(leased: str) -> None:
    first = s3.swap(f"{leased}/x", b"first", None)
    s3.swap(f"{leased}/x", b"second", first.etag)
    with pytest.raises(ConfigError, match="exists with other bytes"):
        s3.put_new(b"third", f"{leased}/x", sha256(b"third"), replaced=first.etag)
    assert s3.read(f"{leased}/x") == b"second"
