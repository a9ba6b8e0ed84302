"""A rehearsal: the sample, what it leaves alone, and what it says of the whole corpus."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from corpora import published, request, small_corpus, tree, write_documents

from gristmill import pipeline
from gristmill.config import PrepareConfig, parse
from gristmill.errors import ConfigError
from gristmill.reporting.rehearsal import Rehearsed, decoded
from gristmill.stages.ingest.plan import listed, plan
from gristmill.stages.publish.budget import text_of
from gristmill.stages.publish.rehearse import rehearsed, verdicts_of

TEXTS = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sources of real documents, one of them compressed."""
    found = tmp_path_factory.mktemp("rehearsal")
    texts = [f"{number}: {text[:600]}" for number, text in enumerate(small_corpus(TEXTS))]
    write_documents(found / "in" / "a.jsonl", texts[::2])
    write_documents(found / "in" / "b.jsonl", texts[1::2])
    write_documents(found / "books" / "c.jsonl", [f"A book. {text}" for text in texts[:100]])
    return found


def asked(folder: Path, tokens: float, **settings: Any) -> PrepareConfig:
    sources = [
        {"kind": "files", "name": "web", "paths": [str(folder / "in")]},
        {"kind": "files", "name": "books", "paths": [str(folder / "books")]},
    ]
    plain: dict[str, Any] = {
        "sources": sources,
        "dedup": [{"kind": "exact"}],
        "split": {"fraction": 0.2},
        "ordering": {"kind": "hashed"},
        "rehearse": {"tokens": tokens},
    }
    return request(folder, **(plain | settings))


@pytest.fixture(scope="module")
def half(folder: Path) -> PrepareConfig:
    """A rehearsal with about half of the input, done."""
    everything = asked(folder, 1)
    config = rehearsed(asked(folder, text_of(listed(everything).shards, everything) / 8))
    pipeline.prepare(config)
    return config


def verdicts(config: PrepareConfig) -> Rehearsed:
    data = (Path(config.destination) / "report" / "rehearsal.json").read_bytes()
    return decoded(data)


def test_a_rehearsal_has_about_the_tokens_that_were_asked_for(folder: Path, half: PrepareConfig) -> None:
    """A sample by the compressed size, or of one source alone, would be another corpus."""
    assert half.rehearse is not None
    assert half.rehearse.share == pytest.approx(0.5, rel=0.01)
    assert [source.sample_rate for source in half.sources] == [half.rehearse.share] * 2
    texts = published(half)
    assert 0.4 * (TEXTS + 100) < len(texts) < 0.6 * (TEXTS + 100)
    books = [text for text in texts if text.startswith("A book. ")]
    assert 30 < len(books) < 70
    everything = set(published_of_all(folder))
    assert set(texts) < everything


def published_of_all(folder: Path) -> list[str]:
    config = asked(folder, 1, rehearse=None, output=str(folder / "all"))
    pipeline.prepare(config)
    return published(config)


def test_the_real_output_is_not_touched(folder: Path, half: PrepareConfig) -> None:
    """A rehearsal that lands in the output of the real run makes that run impossible, or spoils it."""
    place = Path(half.destination)
    assert place.parent == folder
    assert place.name.startswith("out-rehearsal-")
    assert half.dataset.startswith("test-rehearsal-")
    assert not (folder / "out").exists()


def test_an_output_that_is_written_with_a_slash(folder: Path) -> None:
    """``out/`` and a suffix is a folder inside the real data set."""
    config = rehearsed(asked(folder, 1e3, output=f"{folder}/out/"))
    assert Path(config.destination).parent == folder


def test_another_size_or_other_rules_are_another_rehearsal(folder: Path, half: PrepareConfig) -> None:
    """The second rehearsal would be refused, or replace the one it is to be compared with."""
    tokens = half.rehearse.tokens if half.rehearse else 0
    others = [
        asked(folder, tokens / 2),
        asked(folder, tokens, dedup=[]),
        asked(folder, tokens, cleaning=[{"kind": "whitespace"}]),
    ]
    names = {rehearsed(config).destination for config in others}
    assert len(names | {half.destination}) == 4
    assert rehearsed(asked(folder, tokens)) == half


def test_a_rehearsal_is_not_rehearsed_again(half: PrepareConfig) -> None:
    """The command and the flow both see to it: a sample of the sample would have a quarter of the tokens."""
    assert rehearsed(half) is half
    assert rehearsed(parse(half.model_dump(mode="json"))) == half


def test_a_share_by_hand_is_refused(folder: Path) -> None:
    """It would make the real data set of all input and call it a sample."""
    with pytest.raises(ConfigError, match=r"rehearse\.share: set by the run; give rehearse\.tokens alone"):
        asked(folder, 1, rehearse={"tokens": 1, "share": 0.5})


def test_a_corpus_that_is_smaller_is_rehearsed_as_a_whole(folder: Path) -> None:
    """A rate above 1 would be refused in words that speak of another setting."""
    config = rehearsed(asked(folder, 1e9))
    assert config.rehearse is not None
    assert config.rehearse.share == 1
    assert config.sources == asked(folder, 1).sources


def test_limits_and_rates_shrink_alike(folder: Path) -> None:
    """A limit that stays as it is would be filled by reading on, far beyond what the real run reads."""
    source = {"kind": "files", "name": "web", "paths": [str(folder / "in")], "sample_rate": 0.5, "limit_documents": 80}
    config = rehearsed(asked(folder, 1e3, sources=[source]))
    assert config.rehearse is not None
    share = config.rehearse.share or 0
    assert 0 < share < 0.5
    assert config.sources[0].sample_rate == 0.5 * share
    assert config.sources[0].limit_documents == round(80 * share)


def test_the_disk_budget_is_that_of_the_sample(folder: Path) -> None:
    """A machine on which the whole corpus does not fit is the one to rehearse on."""
    config = rehearsed(asked(folder, 1e3))
    assert 3900 < text_of(plan(config).shards, config) <= 4000


def test_every_figure_has_a_row_with_its_verdict(half: PrepareConfig) -> None:
    """A figure that is missing is one that nobody looks at."""
    found = {str(row["figure"]): row for row in verdicts(half).rows}
    assert list(found) == [
        "dedup retention",
        "unknown ids",
        "window filled",
        "shard size: nanogpt",
        "characters lost in cleaning",
        "quarantined",
        "validation also in train",
        "bytes per token: books",
        "bytes per token: web",
    ]
    assert found["dedup retention"]["verdict"] == "warning"
    assert found["validation also in train"]["value"] == "0"
    assert found["bytes per token: web"]["value"] == "1.00"
    assert all(row["remedy"] for row in found.values() if row["verdict"] != "good")


def test_validation_text_in_train_is_found(tmp_path: Path) -> None:
    """Without dedup the same text lands on both sides, and every loss that is measured is too good."""
    texts = [f"text number {number} of some length" for number in range(40)]
    write_documents(tmp_path / "in" / "a.jsonl", texts * 3)
    config = rehearsed(
        request(tmp_path, split={"kind": "fraction", "fraction": 0.1}, ordering={"kind": "nanogpt"},
                rehearse={"tokens": 1e9})
    )  # fmt: skip
    pipeline.prepare(config)
    row = next(row for row in verdicts(config).rows if row["figure"] == "validation also in train")
    held_out = published(config)[-12:]
    trained = set(published(config)[:-12])
    assert row["value"] == str(sum(text in trained for text in held_out)) != "0"
    assert row["verdict"] == "bad"


def test_the_verdict_is_a_listed_file(half: PrepareConfig) -> None:
    """A file that the manifest does not list is a stranger to verify."""
    place = Path(half.destination)
    manifest = pipeline.prepare(half)
    paths = {entry.path for entry in manifest.attachments}
    assert {"report/rehearsal.json", "report/rehearsal.md"} <= paths
    text = (place / "report" / "rehearsal.md").read_text()
    assert "validation also in train" in text
    assert "hours" not in text
    assert verdicts_of(manifest, half) == verdicts(half)
    assert verdicts_of(msgspec.structs.replace(manifest, attachments=[]), half) is None


def test_a_rehearsal_gives_the_same_bytes_again(half: PrepareConfig, folder: Path) -> None:
    """Times or places in the published verdict would make every rerun a conflict."""
    other = half.model_copy(
        update={
            "output": str(folder / "again"),
            "execution": half.execution.model_copy(update={"work": str(folder / "again-work"), "workers": 1}),
        }
    )
    pipeline.prepare(other)
    assert tree(folder / "again") == tree(Path(half.destination))
