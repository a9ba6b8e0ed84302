"""Night after night on one output: only what is new is done, and nothing published changes."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import documents_of, request, tree, write_documents

from gristmill import ledger, pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, VerificationError
from gristmill.inspection import against
from gristmill.inspection.verify import verify
from gristmill.manifest import read_manifest
from gristmill.stages.ingest import generations
from gristmill.stages.ingest.plan import plan
from gristmill.storage import disk

NIGHTS = 3


def words(number: int, count: int = 60) -> list[str]:
    chance = np.random.default_rng(number)
    return [f"w{word}" for word in chance.integers(0, 1000, count)]


def night(number: int) -> list[str]:
    """Texts of one night: new ones, copies and near copies of earlier nights', one that joins two of them."""
    fresh = [" ".join(words(100 * number + place)) for place in range(30)]
    copies = [" ".join(words(100 * earlier + 7)) for earlier in range(number)]
    near = [" ".join([*words(100 * earlier + 8)[:-1], f"end{number}"]) for earlier in range(number)]
    bridge = [" ".join(words(100 * earlier + 9)[:30] + words(100 * earlier + 10)[:30]) for earlier in range(number)]
    return fresh + copies + near + bridge


def asked(folder: Path, name: str = "nights", **settings: Any) -> PrepareConfig:
    rest = {
        "dedup": [{"kind": "exact"}, {"kind": "minhash", "threshold": 0.5}],
        "split": {"fraction": 0.1},
        "ordering": {"kind": "hashed"},
        "output": str(folder / name / "out"),
        "execution": {"work": str(folder / name / "work")},
    }
    return request(folder, **{**rest, **settings})


def arrive(folder: Path, number: int) -> None:
    write_documents(folder / "in" / f"night-{number}-a.jsonl.gz", night(number)[::2])
    write_documents(folder / "in" / f"night-{number}-b.jsonl.gz", night(number)[1::2])


def kept(config: PrepareConfig) -> Counter[str]:
    manifest = read_manifest(config.destination)
    return Counter(text for file in manifest.files for text in documents_of(Path(config.destination) / file.path))


def runs_of(config: PrepareConfig) -> Counter[str]:
    """Outputs in the work area by stage."""
    return Counter(path.parent.parent.name for path in Path(config.execution.work).glob("*/*/report.json"))


def three_nights(folder: Path) -> PrepareConfig:
    config = asked(folder)
    for number in range(NIGHTS):
        arrive(folder, number)
        pipeline.prepare(config)
    return config


def test_three_nights_keep_what_one_run_over_all_of_them_keeps(tmp_path: Path) -> None:
    """A data set that was grown must be the one that would have been made at once, document for document."""
    config = three_nights(tmp_path)
    at_once = asked(tmp_path, "at once")
    pipeline.prepare(at_once)
    assert kept(config) == kept(at_once)
    dropped = read_manifest(config.destination).dropped
    assert dropped == read_manifest(at_once.destination).dropped
    assert dropped["duplicate_exact"] >= 3
    assert dropped["duplicate_minhash"] >= 3
    assert verify(config.destination).problems == []
    assert against.compare(config.destination, config) == []


def test_a_night_does_only_what_arrived(tmp_path: Path) -> None:
    """The work of a night must not grow with the age of the data set."""
    config = asked(tmp_path)
    counts = []
    for number in range(NIGHTS):
        arrive(tmp_path, number)
        pipeline.prepare(config)
        counts.append(runs_of(config))
    per_night = [counts[0], counts[1] - counts[0], counts[2] - counts[1]]
    for stage in ("fetch", "clean", "sign", "tokenize"):
        assert [night[stage] for night in per_night] == [2, 2, 2]


def test_published_files_and_their_validation_documents_never_change(tmp_path: Path) -> None:
    """A loader that has read half of the data, or a validation loss that was written down, must stay meaningful."""
    config = asked(tmp_path)
    before: dict[str, str] = {}
    for number in range(NIGHTS):
        arrive(tmp_path, number)
        pipeline.prepare(config)
        now = tree(Path(config.destination))
        assert {name: now[name] for name in before} == before
        before = {name: digest for name, digest in now.items() if name not in ("manifest.json", "README.md")}
    manifest = read_manifest(config.destination)
    assert [generation.number for generation in manifest.generations] == [1, 2, 3]
    assert {"nanogpt/train.bin", "nanogpt/train-g00002.bin", "nanogpt/train-g00003.bin"} <= set(before)
    assert sum(generation.documents for generation in manifest.generations) == manifest.totals["documents"]
    assert [row.index for row in manifest.source_shards] == list(range(2 * NIGHTS))


def test_a_night_without_arrivals_changes_nothing(tmp_path: Path) -> None:
    """A schedule that fires on a quiet night must not add an empty generation, touched files or not."""
    config = three_nights(tmp_path)
    before, done = tree(Path(config.destination)), runs_of(config)
    for path in (tmp_path / "in").iterdir():
        path.touch()
    assert plan(config).shards == []
    pipeline.prepare(config)
    assert tree(Path(config.destination)) == before
    assert runs_of(config) == done


def test_the_work_area_may_be_lost_between_nights(tmp_path: Path) -> None:
    """A container without a lasting disk: what is published stands for what was read, and nothing is read again."""
    config = asked(tmp_path)
    arrive(tmp_path, 0)
    pipeline.prepare(config)
    shutil.rmtree(config.execution.work)
    arrive(tmp_path, 1)
    pipeline.prepare(config)
    assert runs_of(config)["fetch"] == 2
    assert max(kept(config).values()) == 1
    assert verify(config.destination).problems == []
    reports = [ledger.present(path.parent) for path in Path(config.execution.work).glob("decide/*/report.json")]
    assert sum(report.dropped["duplicate_exact"] for report in reports if report) == 1


def test_a_night_of_copies_alone_adds_no_file(tmp_path: Path) -> None:
    """An empty shard makes some loaders fail."""
    config = asked(tmp_path)
    arrive(tmp_path, 0)
    pipeline.prepare(config)
    write_documents(tmp_path / "in" / "again.jsonl", night(0))
    manifest = pipeline.prepare(config)
    assert [file.generation for file in manifest.files] == [1] * len(manifest.files)
    assert manifest.generations[-1].documents == 0
    assert manifest.dropped["duplicate_exact"] == len(night(0))
    assert verify(config.destination).problems == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cleaning": [{"kind": "whitespace"}]}, "cleaning: [] -> [whitespace]"),
        ({"dedup": [{"kind": "exact"}]}, "dedup"),
        ({"split": {"fraction": 0.2}}, "split"),
        ({"formats": [{"kind": "nanogpt", "eot": "none"}]}, "formats"),
        ({"dataset": "other"}, "holds data set 'test'"),
    ],
)
def test_other_rules_are_refused_by_name(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    """Half a data set by one rule and half by another is no data set."""
    arrive(tmp_path, 0)
    pipeline.prepare(asked(tmp_path))
    arrive(tmp_path, 1)
    with pytest.raises(ConfigError, match="--rebuild") as caught:
        pipeline.prepare(asked(tmp_path, **settings))
    assert said in str(caught.value)


def test_another_tokenizer_under_the_same_path_is_refused(tmp_path: Path) -> None:
    """Ids of two vocabularies in one data set decode to nonsense."""
    from gristmill.stages.tokens.tokenizer import check_tokenizer

    arrive(tmp_path, 0)
    config = asked(tmp_path)
    pipeline.prepare(config)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace('"version": "1.0"', '"version":  "1.0"').replace("{", "{ ", 1))
    changed = json.loads(path.read_text())
    changed["added_tokens"][0]["content"] = "<|other|>"
    path.write_text(json.dumps(changed))
    with pytest.raises(ConfigError):
        check_tokenizer(config)


@pytest.mark.parametrize("on_removed", ["keep", "tombstone"])
def test_a_removed_input_file_is_told_and_kept_or_marked(tmp_path: Path, on_removed: str) -> None:
    """A request to delete reaches us as a file that is gone: its documents must be found in what is published."""
    config = asked(tmp_path, on_removed=on_removed)
    arrive(tmp_path, 0)
    pipeline.prepare(config)
    gone = tmp_path / "in" / "night-0-a.jsonl.gz"
    texts = set(night(0)[::2])
    gone.unlink()
    assert plan(config).removed == [0]
    manifest = pipeline.prepare(config)
    if on_removed == "keep":
        assert len(manifest.generations) == 1
        return
    assert manifest.generations[-1].removed == [0]
    spans = json.loads((Path(config.destination) / manifest.generations[-1].tombstones).read_text())["spans"]
    marked, rest = [], []
    for file in manifest.files:
        ids = np.fromfile(Path(config.destination) / file.path, "<u2")
        inside = np.zeros(len(ids), bool)
        for start, stop in spans.get(file.path, []):
            inside[start:stop] = True
        for part, found in ((ids[inside], marked), (ids[~inside], rest)):
            part.tofile(tmp_path / "part.bin")
            found += documents_of(tmp_path / "part.bin")
    assert set(marked) == texts
    assert not texts & set(rest)
    assert len(marked) + len(rest) == manifest.totals["documents"]
    assert verify(config.destination).problems == []
    assert pipeline.prepare(config) == manifest


def test_a_changed_file_adds_what_is_new_in_it(tmp_path: Path) -> None:
    """A file that grew over night: its old documents are known, the new ones come in."""
    config = asked(tmp_path)
    write_documents(tmp_path / "in" / "log.jsonl", night(0))
    pipeline.prepare(config)
    write_documents(tmp_path / "in" / "log.jsonl", [*night(0), "a line that was not there before tonight"])
    manifest = pipeline.prepare(config)
    assert manifest.generations[-1].documents == 1
    assert manifest.generations[-1].removed == [0]


def test_a_lost_published_file_is_made_again(tmp_path: Path) -> None:
    """Somebody deletes a shard of an old generation; the same command brings back the same bytes."""
    config = three_nights(tmp_path)
    whole = tree(Path(config.destination))
    (Path(config.destination) / "nanogpt" / "train-g00002.bin").unlink()
    pipeline.prepare(config)
    assert tree(Path(config.destination)) == whole


def test_files_of_a_run_that_was_stopped_give_way_to_those_of_the_next_night(tmp_path: Path) -> None:
    """A run dies before its manifest, input arrives, and every later night would find its files in the way."""
    config = asked(tmp_path)
    arrive(tmp_path, 0)
    pipeline.prepare(config)
    output = Path(config.destination)
    for name in ("manifest.json", "manifests/g00001.json"):
        (output / name).unlink()
    (output / "unfinished.json").write_text('{"dataset":"test"}')
    arrive(tmp_path, 1)
    pipeline.prepare(config)
    fresh = asked(tmp_path, "fresh")
    pipeline.prepare(fresh)
    assert tree(output) == tree(Path(fresh.destination))


def test_a_kill_between_manifest_and_pointer_is_mended(tmp_path: Path) -> None:
    """The generation is finished, and ``manifest.json`` still speaks of the one before: the new one was half-written,
    and would lie in the data set for good."""
    config = asked(tmp_path)
    arrive(tmp_path, 0)
    pipeline.prepare(config)
    old = (Path(config.destination) / "manifest.json").read_bytes()
    arrive(tmp_path, 1)
    pipeline.prepare(config)
    whole = tree(Path(config.destination))
    (Path(config.destination) / "manifest.json").write_bytes(old)
    ended = subprocess.Popen(["true"])
    ended.wait()
    half = Path(config.destination) / disk.temporary("manifest.json", ended.pid)
    half.write_bytes(old[:100])
    pipeline.prepare(config)
    assert not half.exists()
    assert tree(Path(config.destination)) == whole


def test_the_manifest_of_a_generation_says_what_it_added_and_no_more(tmp_path: Path) -> None:
    """Each held all before it: a thousand nights took 1.2 GB of manifests, and every night more than the last."""
    config = three_nights(tmp_path)
    output = Path(config.destination)
    first, second, third = ((output / "manifests" / f"g0000{number}.json").stat().st_size for number in (1, 2, 3))
    assert third < 1.05 * second < 1.3 * first
    added = generations.added_by(3, config.destination)
    assert {file.path for file in added.files} == {"nanogpt/train-g00003.bin", "nanogpt/val-g00003.bin"}
    assert [generation.number for generation in added.generations] == [3]
    whole = (output / "manifest.json").read_bytes()
    (output / "manifest.json").unlink()
    pipeline.prepare(config)
    assert (output / "manifest.json").read_bytes() == whole
    assert verify(config.destination).problems == []


@pytest.mark.parametrize(
    "name", ["report/index-g00002.html", "documents/nanogpt/train.bin", "tokenizer/tokenizer.json"]
)
def test_a_lost_further_file_is_made_again(tmp_path: Path, name: str) -> None:
    """A rerun said that there was nothing to do, and the data set could not be decoded."""
    config = three_nights(tmp_path)
    whole = tree(Path(config.destination))
    (Path(config.destination) / name).unlink()
    pipeline.prepare(config)
    assert tree(Path(config.destination)) == whole


def test_a_published_file_of_another_size_stops_a_rerun(tmp_path: Path) -> None:
    """A copy that broke off left half of a shard, and every night said that all is well."""
    config = three_nights(tmp_path)
    path = Path(config.destination) / "nanogpt" / "train-g00002.bin"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(VerificationError, match=r"train-g00002\.bin has 100 bytes; the manifest lists it with [\d,]+;"):
        pipeline.prepare(config)
    path.unlink()
    pipeline.prepare(config)
    assert verify(config.destination).problems == []


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("manifests", r"manifests/g00001\.json is missing, and 3 generations are finished; bring it back"),
        ("manifests/g00002.json", r"manifests/g00002\.json is missing"),
        (
            "nanogpt",
            r"nanogpt/train\.bin is missing; the manifest lists it with .* \(6 more files are missing or changed",
        ),
    ],
)
def test_half_of_an_output_is_missed_by_name(tmp_path: Path, lost: str, said: str) -> None:
    """It was moved by hand, and the rest taken for files of unknown origin: ``remove it``, said the run."""
    config = three_nights(tmp_path)
    (Path(config.destination) / lost).rename(tmp_path / "lost")
    arrive(tmp_path, NIGHTS)
    with pytest.raises(VerificationError, match=said):
        plan(config)


def test_manifests_of_another_data_set_are_told_from_its_own(tmp_path: Path) -> None:
    """Two outputs were copied into one folder, one over the other."""
    config, other = asked(tmp_path), asked(tmp_path, "other")
    arrive(tmp_path, 0)
    pipeline.prepare(other)
    arrive(tmp_path, 1)
    pipeline.prepare(config)
    shutil.copy(Path(other.destination) / "manifests" / "g00001.json", Path(config.destination) / "manifests")
    with pytest.raises(VerificationError, match=r"g00001\.json is not of the data set that .*manifest\.json speaks of"):
        pipeline.prepare(config)
