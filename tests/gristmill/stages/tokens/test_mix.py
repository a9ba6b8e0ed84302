"""Three sources mixed: what is published of each, where copies go, and that every account still adds up."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied import write_ids
from corpora import documents_of, reports, request
from mixed import check_mixed

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, InputError
from gristmill.inspection import against, copies
from gristmill.inspection.browse import Browser
from gristmill.inspection.explain import trace
from gristmill.inspection.verify import verify
from gristmill.stages.tokens import order as ordering
from gristmill.types import DOCUMENT, Manifest

COUNTS = {"web": 700, "books": 60, "code": 150}
MIX = {"web": 0.5, "books": 0.3, "code": 0.2}
SETTINGS: dict[str, Any] = {
    "mix": MIX,
    "max_repetition": {"books": 3.5},
    "ordering": {"kind": "hashed"},
    "split": {"fraction": 0.1},
    "dedup": [{"kind": "exact"}],
}


def text(source: str, number: int) -> str:
    filler = random.Random(f"{source}{number}")
    return f"{source} {number} " + "".join(filler.choices("abcdefgh ", k=filler.randrange(5, 400)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("mixed")
    for source, count in COUNTS.items():
        for part in range(2):
            numbers = range(part, count, 2)
            write_ids(found / source / f"{part}.jsonl", {f"{source}-{n}": text(source, n) for n in numbers})
    return found


def asked(folder: Path, name: str, **settings: Any) -> PrepareConfig:
    """Sources are shared; everything else is below the name."""
    sources = [{"kind": "files", "name": source, "paths": [str(folder / source)], "id_key": "id"} for source in COUNTS]
    return request(folder / name, **{"sources": sources, **SETTINGS, **settings})


@pytest.fixture(scope="module")
def made(folder: Path) -> PrepareConfig:
    config = asked(folder, "made")
    pipeline.prepare(config)
    return config


@pytest.fixture(scope="module")
def plain(folder: Path) -> PrepareConfig:
    config = asked(folder, "plain", mix={}, max_repetition=1.0)
    pipeline.prepare(config)
    return config


def split(config: PrepareConfig, name: str = "train") -> list[str]:
    return documents_of(Path(config.destination) / "nanogpt" / f"{name}.bin")


def tokens(texts: list[str]) -> Counter[str]:
    """Tokens by source; a byte is a token."""
    found: Counter[str] = Counter()
    for document in texts:
        found[document.split(" ", 1)[0]] += len(document)
    return found


def manifest_of(config: PrepareConfig) -> Manifest:
    return Browser(config.destination).manifest


@pytest.mark.parametrize("kind", ["hashed", "nanogpt", "input"])
def test_published_bytes_have_the_shares_that_were_asked_for(folder: Path, made: PrepareConfig, kind: str) -> None:
    """Counted in the file itself: by documents, books would have a twelfth, not three tenths."""
    config = made
    if kind != "hashed":
        config = asked(folder, f"kind-{kind}", ordering={"kind": kind})
        pipeline.prepare(config)
    manifest, found = manifest_of(config), tokens(split(config))
    for source, share in MIX.items():
        row = manifest.sources[source]
        assert found[source] == row["train_tokens"] == row["target_tokens"] + row["deviation_tokens"]
        assert abs(found[source] / found.total() - share) < 0.005
    assert max(Counter(split(config)).values()) == 4
    check_mixed(config, manifest)
    assert verify(config.destination).problems == []


def test_the_reference_mixes_the_same_documents(made: PrepareConfig) -> None:
    assert against.compare(made.destination, made) == []


def test_a_source_is_published_whole_before_any_of_it_is_repeated(made: PrepareConfig) -> None:
    times = Counter(split(made))
    everything = {source: [text(source, number) for number in range(count)] for source, count in COUNTS.items()}
    train = {source: [t for t in texts if t not in set(split(made, "val"))] for source, texts in everything.items()}
    assert {times[t] for t in train["books"]} == {3, 4}
    assert {times[t] for t in train["code"]} <= {0, 1}
    assert {times[t] for t in train["web"]} == {0, 1}


def test_validation_stays_as_it_is(made: PrepareConfig, plain: PrepareConfig) -> None:
    """A mixture that changes, or validation text that is repeated, would make losses of two runs incomparable."""
    assert split(made, "val") == split(plain, "val")
    assert not set(split(made)) & set(split(made, "val"))


def test_documents_keep_their_order_and_copies_do_not_follow_each_other(
    made: PrepareConfig, plain: PrepareConfig
) -> None:
    stream = split(made)
    place = {document: number for number, document in enumerate(split(plain))}
    web = [place[document] for document in stream if document.startswith("web")]
    assert web == sorted(web)
    gaps = [np.diff([number for number, other in enumerate(stream) if other == document]) for document in set(stream)]
    between = np.concatenate(gaps)
    assert len(between) > 100
    assert np.median(between) > len(stream) / 12


def test_copies_go_to_other_buckets_and_formats_of_text_get_the_same_documents(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large corpus has thousands of buckets; a copy beside its original is seconds of training off."""
    monkeypatch.setattr(ordering, "BUCKET_CHARACTERS", 20_000)
    formats = [{"kind": "nanogpt"}, {"kind": "nanochat_text"}]
    config = asked(folder, "buckets", formats=formats, max_repetition={"books": 3.5}, dedup=[])
    manifest = pipeline.prepare(config)
    check_mixed(config, manifest)
    assert verify(config.destination).problems == []
    stream = split(config)
    assert abs(tokens(stream)["books"] / tokens(stream).total() - 0.3) < 0.005
    counts = {
        kind: sum(f.documents for f in manifest.files if f.format == kind) for kind in ("nanogpt", "nanochat_text")
    }
    assert len(set(counts.values())) == 1
    size = len(stream) // 8
    near = [int(gap) for document in set(stream) for gap in np.diff([n for n, t in enumerate(stream) if t == document])]
    assert len(near) > 100
    assert sum(gap < size // 2 for gap in near) < len(near) / 20


def test_a_smaller_total_is_a_part_of_a_larger_one(folder: Path) -> None:
    several = []
    for total in (10_000, 30_000):
        config = asked(folder, f"total-{total}", total_tokens=total)
        manifest = pipeline.prepare(config)
        check_mixed(config, manifest)
        several.append(Counter(split(config)))
        assert abs(tokens(split(config)).total() - total) < 3 * 200
    assert several[0] <= several[1]


def test_pieces_of_an_input_file_may_be_cut_otherwise(folder: Path, made: PrepareConfig) -> None:
    """The same documents in other files are mixed alike."""
    for source, count in COUNTS.items():
        for part in range(5):
            numbers = range(count * part // 5, count * (part + 1) // 5)
            write_ids(
                folder / "otherwise" / source / f"{part}.jsonl", {f"{source}-{n}": text(source, n) for n in numbers}
            )
    config = asked(folder / "otherwise", "made")
    pipeline.prepare(config)
    assert split(config) == split(made)


def test_every_copy_is_listed_and_can_be_looked_at(made: PrepareConfig) -> None:
    stream = split(made)
    listed = np.fromfile(Path(made.destination) / "documents" / "nanogpt" / "train.bin", DOCUMENT)
    assert listed["length"].tolist() == [len(document) for document in stream]
    browser = Browser(made.destination, split="train")
    number = max(range(len(stream)), key=lambda place: Counter(stream)[stream[place]])
    assert browser.document(number).text == stream[number]
    assert browser.document(number).source == "books"


def test_what_mixing_did_to_a_document_is_explained(made: PrepareConfig) -> None:
    times, held_out = Counter(split(made)), set(split(made, "val"))
    every = {f"{source}-{n}": text(source, n) for source in ("web", "books") for n in range(COUNTS[source])}
    named = {(times[document], document in held_out): name for name, document in every.items()}
    assert set(named) == {(0, False), (0, True), (1, False), (3, False), (4, False)}
    for (count, validates), name in named.items():
        (found,) = trace(made.destination, name)
        assert found.fate == ("published" if count or validates else "not_mixed")
        notes = [f"published {count} times: its source is repeated to reach its share"] if count > 1 else []
        assert found.notes == notes


def test_repetitions_are_not_taken_for_copies_that_dedup_left(made: PrepareConfig) -> None:
    assert copies.look(made.destination) == []


def test_each_generation_mixes_what_arrived_in_it(folder: Path) -> None:
    """Of the second night nothing came but web and code; published files of the first stay as they are."""
    here = folder / "nights"
    for source, count in (("web", 100), ("books", 30), ("code", 60)):
        write_ids(here / source / "0.jsonl", {f"{source}-{n}": text(source, n) for n in range(count)})
    config = asked(here, "run", split={"kind": "none"})
    first = pipeline.prepare(config)
    for source in ("web", "code"):
        write_ids(here / source / "1.jsonl", {f"{source}-{n}": text(source, n) for n in range(200, 300)})
    second = pipeline.prepare(config)
    check_mixed(config, second)
    assert second.files[: len(first.files)] == first.files
    found = tokens(documents_of(Path(config.destination) / "nanogpt" / "train-g00002.bin"))
    assert set(found) == {"web", "code"}
    assert abs(found["web"] / found.total() - 5 / 7) < 0.01
    assert verify(config.destination).problems == []
    assert against.compare(config.destination, config) == []


def test_without_a_mixture_nothing_of_it_is_said(plain: PrepareConfig) -> None:
    """A data set that was published before goes on under the same fingerprint."""
    manifest = manifest_of(plain)
    assert set(manifest.totals) == {"input_documents", "documents", "tokens", "characters"}
    assert all(set(row) == {"documents", "tokens"} for row in manifest.sources.values())
    assert "mix" not in manifest.config_parts
    assert "mix" not in {report.stage for report in reports(plain)}


def test_what_cannot_be_mixed_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no share for code"):
        asked(folder, "refused", mix={"web": 0.5, "books": 0.5})
    with pytest.raises(ConfigError, match="characters cuts a document"):
        asked(folder, "refused", split={"kind": "characters"}, ordering={"kind": "input"})
    with pytest.raises(InputError, match="total_tokens 10000000: books can give"):
        pipeline.prepare(asked(folder, "refused", total_tokens=10_000_000))
    assert not (folder / "refused" / "out").exists()


def test_a_rerun_does_nothing_and_another_mixture_makes_only_what_depends_on_it(folder: Path) -> None:
    config = asked(folder, "again", total_tokens=9_000)
    pipeline.prepare(config)
    before = {json.dumps([report.stage, report.fingerprint]) for report in reports(config)}
    other = asked(folder, "again", total_tokens=9_500, output=str(folder / "again" / "other"))
    pipeline.prepare(other)
    added = {json.loads(key)[0] for key in {json.dumps([r.stage, r.fingerprint]) for r in reports(other)} - before}
    assert added == {"mix", "pack", "upload"}
