"""The bounds on memory of the search for copies change nothing in what is found."""

import resource
from pathlib import Path

import numpy as np
import opened
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill import config as configuration
from gristmill.phases.dedup import drop_duplicates
from gristmill.phases.ingest import ingest
from gristmill.processes import pool
from gristmill.runners.in_process import IN_PROCESS
from gristmill.stages.dedup import _memory
from gristmill.stages.dedup._pairs import ALL_PAIRS, pairs_within, portions
from gristmill.stages.dedup.decide import VERDICT
from gristmill.stages.dedup.records import mapped
from gristmill.stages.ingest.plan import plan

WORDS = [f"word{number}" for number in range(400)]


@given(st.lists(st.integers(2, 3 * ALL_PAIRS), max_size=30), st.integers(1, 2000))
def test_portions_hold_every_group_once_and_few_pairs(sizes: list[int], pairs: int) -> None:
    """A group between two portions would never be compared; one portion of all could exceed the memory."""
    bounds = np.cumsum([0, *sizes])
    parts = list(portions(bounds[:-1], np.array(sizes, np.int64), pairs))
    assert [size for _, part in parts for size in part.tolist()] == sizes
    assert [start for part, _ in parts for start in part.tolist()] == bounds[:-1].tolist()
    for _, part in parts:
        assert len(part) == 1 or pairs_within(part).sum() <= pairs


def corpus(folder: Path) -> Path:
    """40 texts in 4 files, of which every third has nine more copies, exact or nearly."""
    draw = np.random.default_rng(3)
    lines: list[list[str]] = [[] for _ in range(4)]
    for number in range(40):
        words = draw.choice(WORDS, 120).tolist()
        for copy in range(10 if number % 3 == 0 else 1):
            words[copy] = "other" if number % 2 else words[copy]
            lines[draw.integers(4)].append(f'{{"id": "{number}-{copy}", "text": "{" ".join(words)}"}}')
    for place, part in enumerate(lines):
        (folder / f"part-{place}.jsonl").write_text("\n".join(part))
    return folder


def test_a_worker_may_have_a_file_of_every_piece_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search over 1,000 pieces would end with too many open files: each map keeps its file open."""
    monkeypatch.setenv("PYTHONPATH", str(Path(opened.__file__).parent))
    np.zeros(8).tofile(tmp_path / "numbers")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard > 600
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
    try:
        pool.close()  # the children of earlier tests have the limit of then
        assert pool.call(opened.mapped, path=str(tmp_path / "numbers"), times=500) == 500
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        pool.close()


@pytest.mark.parametrize("keep_copy", ["first", "content"])
def test_verdicts_do_not_depend_on_the_bounds(tmp_path: Path, keep_copy: str) -> None:
    """Spilling to the disk, several portions and ranges: what goes in a large run must be what goes here."""
    (tmp_path / "data").mkdir()
    source = {"kind": "files", "paths": [str(corpus(tmp_path / "data"))], "id_key": "id"}
    settings = {"sources": [source], "dedup": [{"kind": "exact"}, {"kind": "minhash"}], "keep_copy": keep_copy}

    def verdicts(work: str, memory: str | int) -> list[tuple[int, ...]]:
        execution = {"work": str(tmp_path / work), "memory": memory}
        config = configuration.parse({**settings, "execution": execution, "output": str(tmp_path / "out")})
        decided = drop_duplicates(ingest(plan(config), config, IN_PROCESS), config, IN_PROCESS).decided
        assert not list((tmp_path / work / "decide").glob("*/*tmp*"))
        fingerprints.append(decided.fingerprint)
        searches.append(len(list((tmp_path / work / "find").iterdir())))
        return mapped(decided, "verdicts", VERDICT).tolist()

    fingerprints: list[str] = []
    searches: list[int] = []
    wanted = verdicts("plenty", "2GB")
    assert len(wanted) > 100
    assert verdicts("little", 2500) == wanted
    assert searches[0] == 2
    assert searches[1] > 30
    assert fingerprints[0] == fingerprints[1]


def test_little_memory_shares_out_little() -> None:
    """Each bound of the test above must be far below what there is to be found, or it shows nothing."""
    assert _memory.keys(2500) == 20
    assert _memory.keys(2_000_000_000) == 16_000_000
    assert _memory.candidates(2500) == 11
    assert _memory.compared(2500, 128) == 1
    assert _memory.edges(2500) == 6
    assert _memory.resident(2500) == 625 < 4 * 166
    assert _memory.spans(2500) == 18
