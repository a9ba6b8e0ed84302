"""One server with a worker for all tests of deployments, and a small corpus for their runs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from stack import Stack, running


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("stack")) as found:
        yield found


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for shard in range(2):
        rows = [
            {"id": f"{shard}-{row}", "text": f"document {row} of file {shard}: " + "to be or not " * 20}
            for row in range(30)
        ]
        (folder / f"{shard}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
