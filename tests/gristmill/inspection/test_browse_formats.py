"""Documents are found in the files of every format, whatever its bytes look like."""

from pathlib import Path

import pytest
from corpora import request, write_documents

from gristmill import pipeline
from gristmill.inspection.browse import Browser
from gristmill.plugins import kinds, kinds_by_fact

TEXTS = [f"document {number} " + "word " * (number % 17 + 3) for number in range(120)]


ROWS = kinds_by_fact("formats", "holds", "rows")  # have no documents in order


@pytest.mark.parametrize("kind", sorted(set(kinds("formats")) - set(ROWS)))
def test_documents_are_the_same_in_every_format(tmp_path: Path, kind: str) -> None:
    """A header, an index before the ids, prepended ends of text, compressed blocks, bytes of text instead of ids."""
    write_documents(tmp_path / "in" / "a.jsonl", TEXTS)
    config = request(tmp_path, formats=[{"kind": kind}], split={"fraction": 0.5})
    pipeline.prepare(config)
    for split, texts in (("val", TEXTS[:60]), ("train", TEXTS[60:])):
        browser = Browser(config.destination, format=kind, split=split)
        *whole, last = [browser.document(number).text for number in range(browser.documents)]
        assert len(whole) > 20, "mds leaves out the ids at the end that fill no sample"
        assert whole == texts[: len(whole)]
        assert texts[len(whole)].startswith(last)
