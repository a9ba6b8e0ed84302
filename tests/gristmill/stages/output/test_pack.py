"""What is written at once is bounded, and what is written does not depend on it."""

from pathlib import Path

import pytest
from corpora import request, small_corpus, tree, write_documents

from gristmill import pipeline
from gristmill.stages.output import pack

FORMATS = [{"kind": "nanogpt"}, {"kind": "llmc", "shard_tokens": 30_000}]
"""End of text after and before; one document goes over several files of the second."""


@pytest.mark.parametrize("ids", [1024, 20_000])
def test_long_documents_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: int) -> None:
    """A thousand documents of megabytes, joined before they were written, took the memory of all."""
    texts = [*small_corpus(30), "a long one " * 9000, "a", "b", *small_corpus(10)]
    found = []
    for name, most in (("whole", 1 << 40), ("parts", ids)):
        monkeypatch.setattr(pack, "WRITE_IDS", most)
        write_documents(tmp_path / name / "in" / "a.jsonl", texts)
        config = request(tmp_path / name, formats=FORMATS)
        pipeline.prepare(config)
        files = tree(tmp_path / name / "out")
        found.append({path: digest for path, digest in files.items() if path.endswith(".bin")})
    assert found[0] == found[1]
    assert len(found[0]) > 4
