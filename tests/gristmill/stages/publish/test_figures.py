"""Figures counted from the work area, held against the published data."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from corpora import documents_of, request, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.reporting.figures import Figures, decoded
from gristmill.storage import stores

LATIN, HAN, GREEK = "plain words number {}", "\u6f22\u5b57\u6f22\u5b57 {}", "\u03b1\u03b2\u03b3 {}"


def figures_of(config: PrepareConfig, name: str = "report/figures.json") -> Figures:
    return decoded(stores.at(config.destination).read(name))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> PrepareConfig:
    """Two files with three copies of one text and two of another."""
    folder = tmp_path_factory.mktemp("figures")
    plain = [LATIN.format("x" * number) for number in range(1, 60)]
    write_documents(folder / "in" / "a.jsonl.gz", [*plain, HAN.format(1), "copied", "copied", "twice"])
    write_documents(folder / "in" / "b.jsonl.gz", [GREEK.format(2), "copied", "twice", " ", "sh"])
    config = request(
        folder,
        dedup=[{"kind": "exact"}],
        cleaning=[{"kind": "length", "min_chars": 3}],
        split={"kind": "fraction", "fraction": 0.1},
        ordering={"kind": "hashed"},
    )
    pipeline.prepare(config)
    return config


def test_every_step_of_the_funnel_has_its_count(made: PrepareConfig) -> None:
    found = figures_of(made)
    read = 59 + 4 + 5
    assert found.documents == {
        "read": read, "usable": read, "cleaned": read - 2, "deduplicated": read - 5, "published": read - 5,
    }  # fmt: skip
    assert list(found.characters) == ["usable", "cleaned", "deduplicated", "published"]
    assert found.characters["cleaned"] == found.characters["usable"] - len(" sh")
    assert found.characters["deduplicated"] == found.characters["cleaned"] - len("copiedcopiedtwice")


def test_lengths_are_those_of_the_published_documents(made: PrepareConfig) -> None:
    """Of both splits, each document once, by its bytes: one is an id here."""
    folder = Path(made.destination) / "nanogpt"
    sizes = [len(text.encode()) for name in ("train.bin", "val.bin") for text in documents_of(folder / name)]
    assert figures_of(made).lengths == dict(sorted(Counter(1 << (size.bit_length() - 1) for size in sizes).items()))


def test_groups_of_copies_count_the_one_that_stays(made: PrepareConfig) -> None:
    assert figures_of(made).clusters == {2: 2}


def test_letters_are_counted_by_script(made: PrepareConfig) -> None:
    found = figures_of(made)
    assert (found.scripts["Han"], found.scripts["Greek"]) == (4, 3)
    assert found.scripts["Latin"] > 59 * 16
    assert "Other" not in found.scripts
    assert found.sampled == 66


def test_languages_are_those_of_the_cleaned_documents(tmp_path: Path) -> None:
    """Characters are those of the whole documents, though each is judged by its middle."""
    english = "The river runs slowly past the old houses, and in the evening the children swim in it. "
    german = "Der Fluss zieht langsam an den alten H\u00e4usern vorbei, und am Abend baden die Kinder. "
    texts = [english * 40, english * 2, german * 3]
    write_documents(tmp_path / "in" / "a.jsonl.gz", texts)
    config = request(tmp_path)
    pipeline.prepare(config)
    assert figures_of(config).languages == {
        "de": {"documents": 1, "characters": len(texts[2])},
        "en": {"documents": 2, "characters": len(texts[0]) + len(texts[1])},
    }


def test_packing_has_the_account_of_every_format(tmp_path: Path) -> None:
    """Held against the published rows and stream."""
    write_documents(tmp_path / "in" / "a.jsonl.gz", ["x" * length for length in (5, 9, 20, 40, 7, 3, 11)])
    config = request(
        tmp_path, packing={"kind": "best_fit", "length": 15}, formats=[{"kind": "parquet_rows"}], split={"kind": "none"}
    )
    manifest = pipeline.prepare(config)
    found = figures_of(config).packing["parquet_rows"]
    assert found["ids"] == 5 + 9 + 20 + 40 + 7 + 3 + 11 + 7
    assert found["ids"] == found["placed"] + found["cropped"] + found["left"]
    assert found["placed"] == sum(file.tokens for file in manifest.files) == 16 * found["rows"]
    assert found["cropped"] > 0
    assert (found["documents"], found["padding"]) == (7, 0)


def test_a_stream_has_nothing_cropped(made: PrepareConfig) -> None:
    packing = figures_of(made).packing
    assert packing == {"nanogpt": {"ids": packing["nanogpt"]["placed"], "placed": packing["nanogpt"]["ids"], "left": 0}}


@pytest.mark.parametrize("dedup", [[], [{"kind": "paragraph", "min_bytes": 5}]])
def test_other_ways_to_drop_copies_have_figures_too(tmp_path: Path, dedup: list[Any]) -> None:
    write_documents(tmp_path / "in" / "a.jsonl.gz", ["one text", "another text"])
    config = request(tmp_path, dedup=dedup)
    pipeline.prepare(config)
    found = figures_of(config)
    assert set(found.documents.values()) == {2}
    assert (found.clusters, found.lengths) == ({}, {8: 2})
