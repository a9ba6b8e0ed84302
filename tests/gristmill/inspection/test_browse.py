"""Published documents found again by number, by place and by what they say."""

from pathlib import Path

import pytest
from corpora import EOT, documents_of, request, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError
from gristmill.inspection.browse import Browser, Part

NIGHTS = 2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> PrepareConfig:
    """Two generations, two splits, documents of every length, ordered by hash."""
    folder = tmp_path_factory.mktemp("browse")
    config = request(folder, ordering={"kind": "hashed"}, split={"kind": "fraction", "fraction": 0.2})
    for night in range(NIGHTS):
        for part in range(2):
            texts = [f"night {night} part {part} {'w' * number}" for number in range(40)]
            write_documents(folder / "in" / f"{night}-{part}.jsonl.gz", texts)
        pipeline.prepare(config)
    return config


def expected(config: PrepareConfig, split: str) -> list[str]:
    folder = Path(config.destination) / "nanogpt"
    return [text for name in (split, f"{split}-g00002") for text in documents_of(folder / f"{name}.bin")]


@pytest.mark.parametrize("split", ["train", "val"])
def test_documents_are_numbered_over_all_files_of_a_split(made: PrepareConfig, split: str) -> None:
    browser = Browser(made.destination, split=split)
    texts = expected(made, split)
    assert len(texts) > 10
    assert browser.documents == len(texts)
    parts = [browser.document(number) for number in range(browser.documents)]
    assert [part.text for part in parts] == texts
    assert [part.document for part in parts] == list(range(len(texts)))
    assert all(part.ids == part.length == len(part.text) for part in parts)
    assert {part.file for part in parts} == {f"nanogpt/{split}.bin", f"nanogpt/{split}-g00002.bin"}


def test_a_document_is_where_and_from_where_it_says(made: PrepareConfig) -> None:
    """Whoever mends a document in the input must be sent to the right file."""
    browser = Browser(made.destination)
    for number in range(browser.documents):
        part = browser.document(number)
        _, night, _, shard, *_ = part.text.split(" ")
        assert Path(part.input).name == f"{night}-{shard}.jsonl.gz"
        assert part.source == "web"
        data = (Path(made.destination) / part.file).read_bytes()[2 * (part.start + part.ids) :][:2]
        assert int.from_bytes(data, "little") == EOT


@pytest.mark.parametrize("length", [1, 7, 64, 100_000])
def test_windows_tile_the_ids_without_gap(made: PrepareConfig, length: int) -> None:
    """Every document is in the windows once, cut where they end, also across the border of two files."""
    browser = Browser(made.destination, split="val")
    texts: dict[int, str] = {}
    for number in range(-(-browser.ids // length)):
        parts: list[Part] = browser.window(number, length)
        assert sum(part.ids for part in parts) <= length
        for part in parts:
            texts[part.document] = texts.get(part.document, "") + part.text
    assert [texts[number] for number in sorted(texts)] == expected(made, "val")


def test_search_finds_all_documents_with_the_text(made: PrepareConfig) -> None:
    browser = Browser(made.destination)
    found = [part.text for part in browser.search("part 1 wwww")]
    assert found == [text for text in expected(made, "train") if "part 1 wwww" in text]
    assert found
    assert list(browser.search("Part 1")) == []


def test_a_character_split_cuts_a_document_in_two(tmp_path: Path) -> None:
    texts = [f"{number} " + "x" * 50 for number in range(10)]
    write_documents(tmp_path / "in" / "a.jsonl", texts)
    config = request(
        tmp_path, split={"kind": "characters", "fraction": 0.5}, formats=[{"kind": "nanogpt", "eot": "none"}]
    )
    pipeline.prepare(config)
    parts = [Browser(config.destination, split=split) for split in ("train", "val")]
    found = [browser.document(number).text for browser in parts for number in range(browser.documents)]
    assert "".join(found) == "".join(texts)


def test_what_is_not_there_is_answered_with_what_is(made: PrepareConfig) -> None:
    with pytest.raises(ConfigError, match="no split 'test'; there are: train, val"):
        Browser(made.destination, split="test")
    with pytest.raises(ConfigError, match="no format 'olmo'; there are: nanogpt"):
        Browser(made.destination, format="olmo")
    browser = Browser(made.destination)
    last = browser.documents - 1
    for number in (-1, last + 1):
        with pytest.raises(ConfigError, match=f"document {number}: .* has the documents 0 to {last}"):
            browser.document(number)
    with pytest.raises(ConfigError, match=r"window 9999: .* has the windows 0 to"):
        browser.window(9999, 10)
    with pytest.raises(ConfigError, match="at least one id"):
        browser.window(0, 0)
