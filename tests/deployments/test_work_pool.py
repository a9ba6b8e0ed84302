"""A run that is spread over a work pool: two workers that share nothing but an object store."""

import os
from pathlib import Path

import pytest
from corpora import tree
from object_store import Bucket, keys
from stack import Stack, stop

from gristmill import pipeline
from gristmill.config import PrepareConfig

pytestmark = pytest.mark.skipif("GRISTMILL_TEST_STACK" not in os.environ, reason="make test-stack runs it")


def test_two_workers_make_the_bytes_of_one_machine(
    stack: Stack, small_corpus: Path, bucket: Bucket, tmp_path: Path
) -> None:
    """Two machines without a shared disk would each miss what the other made, or make another data set."""
    alone = {
        "dataset": "pooled",
        "sources": [{"kind": "files", "paths": [str(small_corpus)]}],
        "dedup": [],
        "tokenizer": {"kind": "bytes"},
        "output": str(tmp_path / "out"),
        "execution": {"work": str(tmp_path / "work"), "workers": 1},
    }
    pipeline.prepare(PrepareConfig.model_validate(alone))
    spread = {
        "runner": "work_pool",
        "work": f"{bucket.uri}/work",
        "shards_per_run": 1,
        "workers": 1,
        "s3": {"endpoint": bucket.server.endpoint},
    }
    stop(stack.processes.pop("worker"))  # it has no keys
    stack.environment.update({**keys(), "AWS_DEFAULT_REGION": "us-east-1"})
    for name in ("first", "second"):
        stack.start_worker(name)
    try:
        run = stack.run("prepare", config={**alone, "output": f"{bucket.uri}/out", "execution": spread})
        stack.completed(run, seconds=500)
    finally:
        for name in ("first", "second"):
            stop(stack.processes.pop(name))
        stack.start_worker()
    published = {path: bucket.get(f"out/{path}") for path in tree(tmp_path / "out")}
    assert published == {path: (tmp_path / "out" / path).read_bytes() for path in published}
    children = stack.post("/flow_runs/filter", flows={"name": {"any_": ["batch"]}}, limit=100)
    assert len(children) >= 10
    assert {child["state_type"] for child in children} == {"COMPLETED"}
    logs = [(stack.folder / f"{name}.log").read_text() for name in ("first", "second")]
    assert all("submitting flow run" in log for log in logs), "one worker did everything"
