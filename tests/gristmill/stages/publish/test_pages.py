"""What a data set holds for people, generation by generation."""

from pathlib import Path

import pytest
from corpora import request, write_documents
from page_parts import Parsed

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.inspection.doctor import examine
from gristmill.inspection.verify import verify
from gristmill.manifest import read_manifest

HOSTILE = '<script>alert("x")</script> \u202e'


def asked(folder: Path) -> PrepareConfig:
    return request(
        folder,
        cleaning=[{"kind": "length", "min_chars": 60}],
        dedup=[{"kind": "exact"}],
        max_quarantined_share=0.5,
    )


def night(folder: Path, number: int) -> PrepareConfig:
    """A file arrives: two documents, a copy, one that is too short, one that cannot be used."""
    texts = [f"document {number} {row} " * 9 for row in (0, 1, 1)]
    path = write_documents(folder / "in" / f"{number}.jsonl", [*texts, f"{HOSTILE} {number}"])
    with path.open("a") as file:
        file.write('{"text": 5}\n')
    config = asked(folder)
    pipeline.prepare(config)
    return config


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return Path(night(tmp_path, 0).destination)


def test_the_page_shows_samples_of_what_was_left_out(output: Path) -> None:
    parsed = Parsed((output / "report" / "index.html").read_bytes())
    words = "".join(parsed.texts)
    assert HOSTILE.replace("\u202e", "?") in words
    assert "non_string_text" in words
    assert not parsed.named("script")


def test_a_later_page_speaks_of_the_whole_data_set(tmp_path: Path, output: Path) -> None:
    """The newest page is the one that is opened; the first night must be in its sums and its samples."""
    first = (output / "report" / "index.html").read_bytes()
    night(tmp_path, 1)
    assert (output / "report" / "index.html").read_bytes() == first
    words = " ".join("".join(Parsed((output / "report" / "index-g00002.html").read_bytes()).texts).split())
    totals = read_manifest(str(output)).totals
    assert totals["input_documents"] == 10
    assert "10 documents read, 4 published" in words
    assert "published 4 40.0%" in words
    assert "2-3 2" in words, "one group of copies a night"
    for number in (0, 1):
        assert f'alert("x")</script> ? {number}' in words


def test_everything_is_sealed_but_the_card_that_people_edit(tmp_path: Path, output: Path) -> None:
    """A licence is added after a data set is made; that is no damage, and the next night keeps it."""
    card = output / "README.md"
    assert card.read_bytes() == (output / "report" / "card.md").read_bytes()
    edited = card.read_bytes().replace(b"---\n", b"---\nlicense: odc-by\n", 1)
    card.write_bytes(edited)
    assert verify(str(output)).problems == []
    assert examine(str(output), 0) == []
    night(tmp_path, 1)
    assert card.read_bytes() == edited
    for name in ("card.md", "index.html", "figures.json", "summary.md"):
        path = output / "report" / name
        whole = path.read_bytes()
        path.write_bytes(whole + b" ")
        assert any(name in problem for problem in verify(str(output)).problems)
        path.write_bytes(whole)


def test_a_card_that_nobody_edited_follows_the_data(tmp_path: Path, output: Path) -> None:
    night(tmp_path, 1)
    assert (output / "README.md").read_bytes() == (output / "report" / "card-g00002.md").read_bytes()
    assert "generation 2" in (output / "README.md").read_text()
    assert verify(str(output)).problems == []
    assert examine(str(output), 0) == []


def test_a_kill_before_the_card_is_mended(tmp_path: Path, output: Path) -> None:
    """The manifest stands, the card is not there or is that of the night before."""
    old = (output / "README.md").read_bytes()
    config = night(tmp_path, 1)
    new = (output / "README.md").read_bytes()
    assert new != old
    (output / "README.md").write_bytes(old)
    pipeline.prepare(config)
    assert (output / "README.md").read_bytes() == new
    (output / "README.md").unlink()
    pipeline.prepare(config)
    assert (output / "README.md").read_bytes() == new
