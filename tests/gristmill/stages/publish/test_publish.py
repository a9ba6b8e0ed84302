"""A manifest is written over files that are what the reports say, and over no others."""

from pathlib import Path

import pytest
from corpora import request, tree, write_documents

from gristmill import pipeline
from gristmill.errors import StorageError
from gristmill.stages.publish.results import Results
from gristmill.types import Manifest


@pytest.mark.parametrize("number", [0, -1])
def test_a_file_that_another_run_replaced_gets_no_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Two runs with other input on one output: the sums of the one over the bytes of the other would be a data set that
    never verifies. Whichever of the files it is, no further file is put there either."""
    write_documents(tmp_path / "in" / "a.jsonl", [f"document {number}" for number in range(60)])
    config = request(tmp_path, formats=[{"kind": "nanogpt"}, {"kind": "olmo"}], execution={"workers": 2})
    publish, seen = pipeline.publish, list[dict[str, str]]()

    def late(results: Results, config: object) -> Manifest:
        target = Path(results.uploaded[number].artifacts["file"].uri)
        other = bytearray(target.read_bytes())
        other[0] ^= 1
        target.with_suffix(".other").write_bytes(other)
        target.with_suffix(".other").replace(target)
        seen.append(tree(Path(config.destination)))
        return publish(results, config)

    monkeypatch.setattr(pipeline, "publish", late)
    with pytest.raises(StorageError, match="changed, moved or removed since this run put it there"):
        pipeline.prepare(config)
    assert [tree(Path(config.destination))] == seen
