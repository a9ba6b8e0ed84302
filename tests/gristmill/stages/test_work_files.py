"""How text is kept in the work area: a matter of time and space, never of bytes that are published."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from corpora import request, small_corpus, tree, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import NoSpaceError
from gristmill.stages.ingest.plan import plan
from gristmill.stages.publish.budget import budget, check_space, done
from gristmill.types import Budget

RULES = [{"kind": "unicode"}, {"kind": "whitespace"}]


def kept_as(folder: Path, form: str, **settings: Any) -> PrepareConfig:
    write_documents(folder / "in" / "a.jsonl.gz", small_corpus(40))
    place = {
        "output": str(folder / form / "out"),
        "execution": {"work": str(folder / form / "work"), "work_files": form},
    }
    return request(folder, **place, **settings)


def planned(config: PrepareConfig) -> Budget:
    return budget(plan(config).shards, config)


def text_bytes(config: PrepareConfig) -> int:
    """What the files of text take in the work area."""
    return sum(path.stat().st_size for path in Path(config.execution.work).glob("*/*/documents*.arrow"))


@pytest.mark.parametrize("rules", [[], RULES])
def test_the_form_of_work_files_changes_no_published_byte(tmp_path: Path, rules: list[dict[str, str]]) -> None:
    """A run that moves to a fuller disk must add to the data set that it began."""
    plain, small = (kept_as(tmp_path, form, cleaning=rules) for form in ("plain", "lz4"))
    for config in (plain, small):
        pipeline.prepare(config)
    assert text_bytes(small) < 0.8 * text_bytes(plain)
    assert tree(tmp_path / "plain" / "out") == tree(tmp_path / "lz4" / "out")


def test_what_is_done_stands_in_either_form(tmp_path: Path) -> None:
    """Turning it on where the disk has become short must not have everything read again."""
    config = kept_as(tmp_path, "plain")
    pipeline.prepare(config)
    other = config.model_copy(update={"execution": config.execution.model_copy(update={"work_files": "lz4"})})
    again = other.model_copy(update={"output": str(tmp_path / "again")})
    assert done(plan(again).shards, again) == {"fetch": 1, "clean": 1, "sign": 1}


def test_a_disk_that_is_too_small_is_told_what_would_fit(tmp_path: Path) -> None:
    """A run of hours must not end with a full disk where half of the space would have done."""
    large, small = (planned(kept_as(tmp_path, form, cleaning=RULES)) for form in ("plain", "lz4"))
    assert small.work_bytes < large.work_bytes
    config = kept_as(tmp_path, "plain", cleaning=RULES)
    short = msgspec.structs.replace(large, work_free=small.work_bytes)
    (warning,) = check_space(short, config)
    assert "--work or set execution.work_files: lz4" in warning
    with pytest.raises(NoSpaceError, match=r"--work or set execution\.work_files: lz4"):
        check_space(msgspec.structs.replace(large, work_free=large.work_least - 1), config)
    unchanged = planned(kept_as(tmp_path, "plain"))  # one copy where no rule changes anything
    assert unchanged.work_bytes < large.work_bytes
