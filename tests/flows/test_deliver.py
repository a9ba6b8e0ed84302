"""Files go out while others are still packed."""

import json
from functools import partial
from pathlib import Path

from corpora import request, small_corpus, write_documents
from flow_runs import Run

from gristmill.config.execution import Execution
from gristmill.runners.workers import Slots
from gristmill.stages.output.pack import pack
from gristmill.stages.output.upload import upload


def test_files_are_uploaded_before_the_last_ones_are_packed(tmp_path: Path) -> None:
    """With a wait between the two stages the network idles while the cores work, and the other way round."""
    write_documents(tmp_path / "in" / "a.jsonl", small_corpus(40))
    kinds = ("nanogpt", "olmo", "llmc")
    rest = {
        "split": {"fraction": 0.3},
        "ordering": {"kind": "hashed"},
        "formats": [{"kind": kind} for kind in kinds],
    }
    made = Run(request(tmp_path, **rest, execution={"work": str(tmp_path / "work"), "workers": 1}))
    assert made.state.is_completed()
    files = [f"upload-{kinds[number // 2]}-{number:05d}" for number in range(6)]
    tasks = made.tasks([*files, "publish"])
    packed = {name: run for name, run in tasks.items() if name.startswith("pack")}
    assert {len(packed), sum(name.startswith("deliver") for name in tasks)} == {len(files)}
    ends, begins = tasks[files[0]].end_time, max(run.start_time for run in packed.values())
    assert ends is not None
    assert ends <= begins
    rows = json.loads(made.artifacts()["shard-report"])
    assert [(row["file"], row["retries"]) for row in rows[:2]] == [("nanogpt/train.bin", 0), ("nanogpt/val.bin", 0)]
    assert len(rows) == len(files)
    assert all(row["seconds"] > 0 and row["MB/s"] > 0 for row in rows)


def test_uploads_have_slots_of_their_own_where_they_are_limited() -> None:
    """A store that takes as many uploads as there are workers at once may answer all of them with SlowDown."""
    uploading, other = partial(upload), partial(pack)
    shared, apart = Slots(Execution(workers=3)), Slots(Execution(workers=3, uploads=2))
    assert shared.of(uploading) is shared.of(other)
    taken = [apart.of(uploading).acquire(blocking=False) for _ in range(3)]
    assert taken == [True, True, False]
    assert apart.of(other).acquire(blocking=False)
