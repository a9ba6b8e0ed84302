"""Documents of a data set in an object store."""

from pathlib import Path

from corpora import request, write_documents
from object_store import Bucket

from gristmill import pipeline
from gristmill.inspection.browse import Browser


def test_a_data_set_in_a_store_is_browsed_like_one_in_a_folder(tmp_path: Path, moto_bucket: Bucket) -> None:
    """Its files are copied here once, whole; the answers are the same."""
    write_documents(tmp_path / "in" / "a.jsonl", [f"document {number}" for number in range(20)])
    local, remote = request(tmp_path), request(tmp_path, output=f"{moto_bucket.uri}/set")
    for config in (local, remote):
        pipeline.prepare(config)
    here, there = Browser(local.destination), Browser(remote.destination)
    assert there.documents == here.documents == 20
    assert [there.document(number) for number in range(20)] == [here.document(number) for number in range(20)]
    assert there.window(1, 30) == here.window(1, 30)
