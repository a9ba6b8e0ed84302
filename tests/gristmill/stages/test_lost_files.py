"""A run whose files are taken away, or who may open no more, says in a line what is missing and what to do."""

import errno
import importlib
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from corpora import request, tree, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, GristmillError, StorageError
from gristmill.storage import disk


@pytest.fixture
def config(tmp_path: Path) -> PrepareConfig:
    for number in range(3):
        write_documents(tmp_path / "in" / f"{number}.jsonl", [f"document {number} {place}" for place in range(20)])
    return request(tmp_path, dedup=[{"kind": "exact"}], split={"fraction": 0.2}, ordering={"kind": "hashed"})


STEPS = [("gristmill.phases.dedup", "decide"), ("gristmill.phases.output", "upload"), ("gristmill.pipeline", "publish")]


@pytest.mark.parametrize(("module", "step"), STEPS)
@pytest.mark.parametrize("what", ["out", "work"])
def test_an_output_or_a_work_area_that_is_moved_away_is_missed_by_name(
    config: PrepareConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, step: str, what: str
) -> None:
    """Somebody tidies up while a run is at work, and all that is said is FileNotFoundError."""
    function = getattr(importlib.import_module(module), step)

    def late(*arguments: Any, **named: Any) -> Any:
        if (tmp_path / what).exists():
            shutil.move(tmp_path / what, tmp_path / "moved")
        monkeypatch.setattr(f"{module}.{step}", function)
        return function(*arguments, **named)

    monkeypatch.setattr(f"{module}.{step}", late)
    try:
        pipeline.prepare(config)
    except GristmillError as error:
        said = str(error)
        assert "\n" not in said
        assert str(tmp_path / what) in said
        assert re.search("moved or removed", said), said
    pipeline.prepare(config)
    again = tree(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    pipeline.prepare(config)
    assert tree(tmp_path / "out") == again


FEW = """
import resource, sys
import pyarrow, numpy
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from corpora import request
from gristmill import pipeline
from gristmill.commands import failing_clearly
from gristmill.stages.ingest.plan import plan
config = request(Path(sys.argv[1]), dedup=[{"kind": "exact"}])
plan(config)
def run():
    free = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + int(sys.argv[2]), 4096))
    pipeline.prepare(config)
    return 0
sys.exit(failing_clearly(run, debug=False))
"""


def test_too_many_open_files_names_the_limit_and_how_to_raise_it(tmp_path: Path) -> None:
    """A search over 66,500 pieces ended after hours with errno 24 of a library, in a traceback."""
    for number in range(14):
        write_documents(tmp_path / "in" / f"{number}.jsonl", [f"document {number} {place}" for place in range(3)])
    command = [sys.executable, "-c", FEW, str(tmp_path), "8", *filter(None, sys.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert re.search(
        r"too many open files: this process may have \d+, and workers raise that to 4,096; .* raise both .*ulimit -Hn",
        line,
    )


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (OSError(errno.EMFILE, "x", "a/b"), ConfigError, "a/b: too many open files: .* LimitNOFILE="),
        (OSError(errno.ENFILE, "x"), StorageError, "here: .* fs.file-max"),
        (OSError(errno.ENOMEM, "x"), StorageError, "here: .* vm.max_map_count"),
        (OSError(errno.ENOENT, "Failed to open local file 'a/b'. Detail: [errno 2]"), StorageError, "^a/b: No such"),
        (OSError(errno.EIO, "it broke", b"a/b"), StorageError, "^a/b: it broke$"),
    ],
)
def test_an_error_of_the_system_becomes_one_with_a_remedy(error: OSError, kind: type[Exception], said: str) -> None:
    made = disk.wrap(error, Path("here"))
    assert isinstance(made, kind)
    assert re.search(said, str(made))
    assert f"{resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,}" in str(made) or error.errno != errno.EMFILE
