"""A run by the library over inputs behind a password or a signature leaves neither anywhere."""

import logging
from pathlib import Path

import pytest
from guarded import guarded, leaks
from guarded_runs import asked, inputs

from gristmill import pipeline
from gristmill.errors import InputError
from gristmill.manifest import read_manifest


def test_a_whole_job_leaves_no_secret(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """User, password and signed query of an input stood in the manifest, the report and the work area."""
    caplog.set_level(logging.INFO)
    made = tmp_path / "made"
    inputs(tmp_path / "served")
    with guarded(tmp_path / "served") as server:
        pipeline.prepare(asked(made, server))
        before = read_manifest(made / "out")
        assert before.totals["documents"] == 60
        assert sum(before.quarantined.values()) == 1
        assert len(before.dropped) == 2
        # signed anew: the same input
        pipeline.prepare(asked(made, server, 1))
        assert read_manifest(made / "out") == before
        # a failure says what is wrong and shows nothing
        server.expired.update(("canary%2Fsignature%2B1", "canary%2Fsignature%2B2"))
        with pytest.raises(InputError, match="made anew") as refused:
            pipeline.prepare(asked(made, server))
    captured = capfd.readouterr()
    assert "canary" not in f"{refused.value} {captured.out} {captured.err} {caplog.text}"
    assert leaks(made) == []
    found = [row.uri.rpartition("/")[2] for row in before.source_shards]
    assert found == ["x.jsonl.gz", "y.jsonl", "z.parquet"]
