"""Copies of whole documents, from files to published bytes and the ledger, against every pair compared."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied import EXACT, MINHASH, changed, kept_for, ledger, page, web, write_ids
from corpora import documents_of, published, reports, request, small_corpus, write_documents
from data import HARD as HARD_INPUTS
from pairing import copies
from texts import documents
from xxhash import xxh3_64_intdigest

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup
from gristmill.inspection.copies import look
from gristmill.plugins import load
from gristmill.sources import _lines, _streams, _unfolded
from gristmill.stages.ingest import fetch
from gristmill.types import Manifest

HARD = HARD_INPUTS / "dedup"
QUESTION = "what is the name of the river that runs through the middle of the old town"


def run(folder: Path, files: dict[str, dict[str, str]], **settings: Any) -> tuple[PrepareConfig, Manifest]:
    for name, texts in files.items():
        write_ids(folder / "in" / name, texts)
    config = request(folder, **{"sources": web(folder), "dedup": [EXACT], **settings})
    return config, pipeline.prepare(config)


def test_the_first_in_document_order_stays_across_files(tmp_path: Path) -> None:
    """Which copy stays must not depend on which file was done first; white space makes no other document."""
    files = {
        "0.jsonl": {"a": "one two", "b": "three", "c": "three "},
        "1.jsonl": {"d": " one\ntwo", "e": "four", "f": "three"},
    }
    config, manifest = run(tmp_path, files)
    assert published(config) == ["one two", "three", "four"]
    assert kept_for(config) == {"c": "b", "d": "a", "f": "b"}
    assert [row["shard"] for row in ledger(config)] == [0, 1, 1]
    assert [row["kept_shard"] for row in ledger(config)] == [0, 0, 0]
    assert manifest.dropped == {"duplicate_exact": 3}


def test_a_source_of_higher_priority_wins_over_order(tmp_path: Path) -> None:
    """A page that quotes a book must go, not the book, though the page is read first."""
    near = page(1)
    write_ids(tmp_path / "web" / "a.jsonl", {"w1": "same words", "w2": near, "w3": "own"})
    write_ids(tmp_path / "books" / "a.jsonl", {"b1": "same words", "b2": changed(near, 0, 119)})
    sources = [
        {"kind": "files", "name": name, "paths": [str(tmp_path / name)], "id_key": "id", "priority": priority}
        for name, priority in (("web", 0), ("books", 1))
    ]
    config, manifest = run(tmp_path, {}, sources=sources, dedup=[EXACT, MINHASH])
    assert kept_for(config) == {"w1": "b1", "w2": "b2"}
    assert published(config) == ["own", "same words", changed(near, 0, 119)]
    assert manifest.dropped == {"duplicate_exact": 1, "duplicate_minhash": 1}


def chain(steps: int) -> list[str]:
    """Texts of which each is near its neighbours and the ends are far apart."""
    texts = [page(2, 200)]
    for step in range(steps):
        texts.append(changed(texts[-1], *range(step * 12, step * 12 + 6)))
    return texts


def versions(count: int) -> list[str]:
    """Texts of which each is a copy of the one before, and those far apart are not."""
    texts = [page(2, 240)]
    for step in range(count - 1):
        texts.append(changed(texts[-1], *range(step * 6, step * 6 + 2)))
    return texts


def test_a_chain_of_versions_keeps_those_that_are_unlike(tmp_path: Path) -> None:
    """40 versions of a page, each 0.95 like the next, left one; 35 of the others were like nothing published."""
    texts = versions(40)
    config, _ = run(tmp_path, {"a.jsonl": {f"d{n}": text for n, text in enumerate(texts)}}, dedup=[MINHASH])
    left = published(config)
    assert copies(plugin(MINHASH), documents(left)) == set()
    assert 5 < len(left) < 15
    for name, kept in kept_for(config).items():
        pair = texts[int(kept[1:])], texts[int(name[1:])]
        assert pair[0] in left
        assert copies(plugin(MINHASH), documents(list(pair))) == {(0, 1)}


def test_versions_that_come_night_after_night_make_what_one_run_makes(tmp_path: Path) -> None:
    """Compared with what was dropped in earlier nights, the newest version of a page would never be published."""
    texts = versions(24)
    every = {f"{night}.jsonl": {f"d{n}": texts[n] for n in range(night * 6, night * 6 + 6)} for night in range(4)}
    for name, part in every.items():
        nightly, _ = run(tmp_path / "nightly", {name: part}, dedup=[EXACT, MINHASH])
    at_once, _ = run(tmp_path / "once", every, dedup=[EXACT, MINHASH])
    assert kept_for(nightly) == kept_for(at_once)
    assert len(kept_for(nightly)) > 12


def test_priorities_of_an_earlier_night_hold(tmp_path: Path) -> None:
    """A web page that went for a book must not count the next night, when both are earlier data."""
    book, web_page, new = (text for place, text in enumerate(chain(4)) if place in (0, 2, 4))
    kind = {**MINHASH, "threshold": 0.75}
    assert copies(plugin(kind), documents([book, web_page, new])) == {(0, 1), (1, 2)}
    sources = [
        {"kind": "files", "name": name, "paths": [str(tmp_path / name)], "id_key": "id", "priority": priority}
        for name, priority in (("web", 0), ("books", 1))
    ]
    write_ids(tmp_path / "web" / "a.jsonl", {"w": web_page})
    write_ids(tmp_path / "books" / "a.jsonl", {"b": book})
    config, _ = run(tmp_path, {}, sources=sources, dedup=[kind])
    assert kept_for(config) == {"w": "b"}
    write_ids(tmp_path / "web" / "b.jsonl", {"new": new})
    config, manifest = run(tmp_path, {}, sources=sources, dedup=[kind])
    assert manifest.dropped == {"duplicate_minhash": 1}
    assert manifest.totals["documents"] == 2


@pytest.mark.parametrize("keep", ["first", "content"])
def test_a_document_between_two_that_are_unlike(tmp_path: Path, keep: str) -> None:
    """Both ends of a chain stay where its middle comes last, and the middle alone where it comes first."""
    start, middle, end = (text for place, text in enumerate(chain(4)) if place in (0, 2, 4))
    kind = {**MINHASH, "threshold": 0.75}
    assert copies(plugin(kind), documents([start, end, middle])) == {(0, 2), (1, 2)}
    config, _ = run(tmp_path, {"a.jsonl": {"a": start, "b": end, "c": middle}}, dedup=[kind], keep_copy=keep)
    texts = published(config)
    if keep == "first":
        assert texts == [start, end]
        assert kept_for(config) == {"c": "a"}
    else:
        first = min([start, middle, end], key=lambda text: xxh3_64_intdigest(text.encode()))
        assert set(texts) == ({middle} if first == middle else {start, end})
        assert set(kept_for(config)) == ({"a", "b"} if first == middle else {"c"})


def test_the_first_files_give_the_same_with_and_without_the_last(tmp_path: Path) -> None:
    """What was published one night must not be missing when all nights are run at once."""
    texts = {**corpus(5, 60), **{f"e{number}": page(5000, 60) + f" {number}" for number in range(40)}}
    names = sorted(texts, key=lambda name: (int(name[1:]) % 4, name))
    nights = {f"{night}.jsonl": {name: texts[name] for name in names[night * 25 :][:25]} for night in range(4)}
    whole, _ = run(tmp_path / "whole", nights, dedup=[EXACT, MINHASH])
    for count in (1, 2, 3):
        some = dict(list(nights.items())[:count])
        part, _ = run(tmp_path / str(count), some, dedup=[EXACT, MINHASH])
        seen = set().union(*some.values())
        assert kept_for(part) == {name: kept for name, kept in kept_for(whole).items() if name in seen}
        assert len(kept_for(part)) > 5


def contaminated(folder: Path, **settings: Any) -> dict[str, Any]:
    (folder / "questions.txt").write_text(f"another\n{QUESTION}\n")
    return {"kind": "decontaminate", "paths": [str(folder / "questions.txt")], **settings}


def test_a_contaminated_document_does_not_take_its_copies_along(tmp_path: Path) -> None:
    """The copy without the question is good text: dropped as a copy of a document that is gone, it would be lost."""
    good = page(3, 300)
    files = {"0.jsonl": {"bad": f"{good} {QUESTION}", "good": good, "again": f"{good} end", "other": page(4)}}
    config, manifest = run(tmp_path, files, dedup=[MINHASH, contaminated(tmp_path)])
    assert list(kept_for(config).items()) == [("bad", f"{tmp_path / 'questions.txt'}:2"), ("again", "good")]
    assert published(config) == [good, page(4)]
    assert manifest.dropped == {"contaminated": 1, "duplicate_minhash": 1}


def test_copies_of_a_contaminated_document_are_still_copies_of_each_other(tmp_path: Path) -> None:
    """Three documents of one address: with the first one screened away, the other two were compared with nothing."""
    rows = [("bad", QUESTION), ("b", "one text"), ("c", "another text")]
    path = tmp_path / "in" / "a.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps({"id": name, "text": text, "url": "http://a/b"}) + "\n" for name, text in rows))
    source = web(tmp_path, columns=["url"])
    config, _ = run(tmp_path, {}, sources=source, dedup=[{"kind": "url"}, contaminated(tmp_path)])
    assert kept_for(config) == {"bad": f"{tmp_path / 'questions.txt'}:2", "c": "b"}
    assert published(config) == ["one text"]


def test_reported_documents_stay_and_are_named(tmp_path: Path) -> None:
    """Who only wants to know must not lose a document, nor the count of those that were dropped for other reasons."""
    files = {"0.jsonl": {"bad": f"x {QUESTION}", "copy": f"x {QUESTION}", "good": "other"}}
    config, manifest = run(tmp_path, files, dedup=[EXACT, contaminated(tmp_path, action="report")])
    place = f"{tmp_path / 'questions.txt'}:2"
    assert [(row["id"], row["reason"], row["kept_id"]) for row in ledger(config)] == [
        ("copy", "duplicate_exact", "bad"),
        ("bad", "contamination_reported", place),
        ("copy", "contamination_reported", place),
    ]
    assert published(config) == [f"x {QUESTION}", "other"]
    assert manifest.dropped == {"duplicate_exact": 1}


PROGRAMS = {"a": "if a:\n  b()\n  c()", "b": "if a:\n  b()\nc()", "c": "if a:\r\n  b()\r\nc()\r\n"}


def test_programs_that_differ_by_indentation_stay_and_are_found_the_next_time(tmp_path: Path) -> None:
    """Under genre code, in this run, against earlier data sets and in the check of published copies alike."""
    config, _ = run(tmp_path / "old", {"a.jsonl": PROGRAMS}, sources=web(tmp_path / "old", genre="code"))
    assert kept_for(config) == {"c": "b"}
    assert look(config.destination) == []
    sources = web(tmp_path / "new", genre="code")
    new, _ = run(tmp_path / "new", {"a.jsonl": {**PROGRAMS, "d": "if a:\n    b()\nc()"}}, sources=sources,
                 against=[config.destination])  # fmt: skip
    assert published(new) == ["if a:\n    b()\nc()"]
    prose, _ = run(tmp_path / "prose", {"a.jsonl": PROGRAMS}, sources=web(tmp_path / "prose"))
    assert kept_for(prose) == {"b": "a", "c": "a"}
    assert config.fingerprint() != prose.fingerprint()


def survivors(folder: Path, order: str, keep: str) -> list[str]:
    source = [{"kind": "files", "name": "web", "paths": [str(HARD / order)]}]
    config, _ = run(folder / f"{order}-{keep}", {}, sources=source, dedup=[EXACT, MINHASH], keep_copy=keep)
    return published(config)


def test_which_copy_stays_by_content_whatever_files_are_called(tmp_path: Path) -> None:
    """The same documents under other file names must make the same data set."""
    first, second = survivors(tmp_path, "order_a", "content"), survivors(tmp_path, "order_b", "content")
    assert len(first) == 12
    assert sorted(first) == sorted(second)


def test_by_content_the_smallest_hash_of_the_highest_priority_stays(tmp_path: Path) -> None:
    """A copy from a source of low priority would stay for its hash, and another one after every change of a source."""
    texts = [f"some words {'  ' * number}of cluster {cluster}" for cluster in range(6) for number in range(8)]
    for place, text in enumerate(texts):
        write_ids(tmp_path / ("low", "high")[place % 3 == 0] / f"{place % 4}-{place}.jsonl", {f"d{place}": text})
    sources = [
        {"kind": "files", "name": name, "paths": [str(tmp_path / name)], "id_key": "id", "priority": priority}
        for name, priority in (("low", -1), ("high", 2))
    ]
    config, _ = run(tmp_path, {}, sources=sources, dedup=[EXACT], keep_copy="content")
    wanted = [
        min(
            (places for places in range(c * 8, c * 8 + 8) if places % 3 == 0),
            key=lambda p: xxh3_64_intdigest(texts[p].encode()),
        )
        for c in range(6)
    ]
    assert sorted(published(config)) == sorted(texts[place] for place in wanted)
    assert kept_for(config) == {f"d{p}": f"d{wanted[p // 8]}" for p in range(48) if p not in wanted}


@pytest.mark.parametrize("order", ["order_a", "order_b"])
def test_which_copy_stays_by_order(tmp_path: Path, order: str) -> None:
    """Twelve, and each the first of its cluster in document order."""
    found = survivors(tmp_path, order, "first")
    parts = [HARD / order / f"part-{number}.jsonl" for number in range(2)]
    texts = [json.loads(line)["text"] for part in parts for line in part.read_text().splitlines()]
    kind = load("dedup", MINHASH)
    assert isinstance(kind, Dedup)
    later = {second for _, second in copies(kind, documents(texts))}
    wanted = [text for place, text in enumerate(texts) if place not in later and text not in texts[:place]]
    assert len(wanted) == 12
    assert found == wanted


@pytest.mark.parametrize(("name", "gone"), [("short.jsonl", ["4"]), ("chinese.jsonl", ["2"])])
def test_hard_inputs(tmp_path: Path, name: str, gone: list[str]) -> None:
    """cat and dog are two documents, and a near copy without a space in it is one."""
    source = [{"kind": "files", "name": "web", "paths": [str(HARD / name)], "id_key": "id"}]
    config, _ = run(tmp_path, {}, sources=source, dedup=[EXACT, MINHASH])
    assert list(kept_for(config)) == gone
    assert set(kept_for(config).values()) == {"0"}


def corpus(seed: int, documents: int = 40) -> dict[str, str]:
    """Pages, equal and near copies of them, and copies of copies."""
    draw = np.random.default_rng(seed)
    texts = [page(1000 * seed, 60)]
    for number in range(1, documents):
        text = texts[draw.integers(len(texts))] if draw.random() < 0.7 else page(1000 * seed + number, 60)
        edits = draw.integers(0, 4)
        texts.append(changed(text, *draw.integers(0, 60, edits)) if edits else text + " " * int(draw.integers(2)))
    return {f"d{number}": text for number, text in enumerate(texts)}


def brute_force(texts: list[str], *settings: dict[str, Any]) -> list[int]:
    """For each document the one that stays for it, itself or an earlier copy, by the plugins' decisions on every pair:
    that of the first kind that has any, the first in order."""
    pairs = [copies(plugin(entry), documents(texts)) for entry in settings]
    leader: list[int] = []
    for place in range(len(texts)):
        stay = [other for other, repeats in enumerate(leader) if other == repeats]
        found = [other for kind in pairs for other in stay if (other, place) in kind]
        leader.append(found[0] if found else place)
    return leader


def plugin(settings: dict[str, Any]) -> Dedup:
    found = load("dedup", settings)
    assert isinstance(found, Dedup)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_ledger_names_the_document_that_every_pair_leads_to(tmp_path: Path, seed: int) -> None:
    """A document named as kept that is gone itself, or a copy that stays, and nobody would see it."""
    texts = corpus(seed)
    names = list(texts)
    bounds = [0, 7, 8, 25, 40]
    files = {f"{n}.jsonl": {name: texts[name] for name in names[a:b]} for n, (a, b) in enumerate(pairwise(bounds))}
    config, manifest = run(tmp_path, files, dedup=[EXACT, MINHASH])
    leader = brute_force(list(texts.values()), EXACT, MINHASH)
    wanted = {names[place]: names[first] for place, first in enumerate(leader) if place != first}
    assert kept_for(config) == wanted
    assert len(wanted) > 5
    assert published(config) == [texts[name] for name in names if name not in wanted]
    assert sum(manifest.dropped.values()) == len(wanted)
    assert manifest.dropped == dict(sorted(Counter(row["reason"] for row in ledger(config)).items()))


def shingle_sets(texts: list[str]) -> list[set[str]]:
    words = [re.findall("[a-z0-9]+", text.lower()) for text in texts]
    return [{" ".join(found[n : n + 5]) for n in range(len(found) - 4)} for found in words]


def test_confirmed_exactly_means_the_similarity_of_the_sets(tmp_path: Path) -> None:
    """Signatures are off by 0.035; who asks for exact decisions must get them at the very threshold."""
    draw = np.random.default_rng(0)
    texts = [page(number, 100) for number in range(40)]
    edited = [changed(text, *draw.integers(0, 100, 1 + number % 5)) for number, text in enumerate(texts)]
    sets = zip(shingle_sets(texts), shingle_sets(edited), strict=True)
    similar = [len(first & second) / len(first | second) for first, second in sets]
    threshold = sorted(similar)[20]
    assert sum(abs(value - threshold) < 0.06 for value in similar) > 10
    # One row a band: every pair worth a comparison is a candidate.
    kind = {**MINHASH, "confirm": "exact", "threshold": threshold, "bands": 128, "rows": 1}
    files = {
        f"{name}.jsonl": {f"{name}{n}": text for n, text in enumerate(part)}
        for name, part in (("a", texts), ("b", edited))
    }
    config, _ = run(tmp_path, files, dedup=[kind])
    assert kept_for(config) == {f"b{n}": f"a{n}" for n, value in enumerate(similar) if value >= threshold}


def test_pieces_and_searches_of_any_size_give_the_same_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits of memory are no settings: a bigger machine must not make another data set."""
    texts = {**corpus(7), **{name + "x": text + " y" for name, text in corpus(8).items()}}
    names = list(texts)
    files = {f"{number}.jsonl": {name: texts[name] for name in names[number::3]} for number in range(3)}
    minhash = {**MINHASH, "confirm": "exact", "bands": 4, "rows": 5}
    kinds = [EXACT, minhash, {"kind": "paragraph", "separator": " ", "min_bytes": 8}]
    made, pieces = [], []
    for number, (characters, memory) in enumerate([(1 << 27, "2GB"), (1, 12_000), (4000, 7_000)]):
        monkeypatch.setattr(fetch, "PIECE_CHARACTERS", characters)
        for module in (_streams, _unfolded):
            monkeypatch.setattr(module, "PIECE", 1000)
        monkeypatch.setitem(_lines.blocks.__kwdefaults__, "size", 1000)
        folder = tmp_path / str(number)
        execution = {"work": str(folder / "work"), "memory": memory}
        config, manifest = run(folder, files, dedup=kinds, execution=execution)
        pieces.append(sum(report.stage == "clean" for report in reports(config)))
        made.append((published(config), sorted(kept_for(config).items()), manifest.dropped))
    assert len(made[0][1]) > 10
    assert all(found == made[0] for found in made)
    assert pieces[0] == 3 < pieces[2] < pieces[1]


def test_no_copy_of_a_planted_document_is_in_both_splits(tmp_path: Path) -> None:
    """The loss on validation documents that were trained on says nothing."""
    texts = [text for text in small_corpus(150) if len(text) < 6000 and text.count(" ") > 60][:60]
    for number in range(3):
        planted = texts if number == 0 else texts[number::3] + [changed(text, 3) for text in texts[:20]]
        write_documents(tmp_path / "in" / f"{number}.jsonl.gz", planted)
    config, _ = run(
        tmp_path,
        {},
        sources=[{"kind": "files", "name": "web", "paths": [str(tmp_path / "in")]}],
        dedup=[EXACT, MINHASH],
        split={"fraction": 0.3},
        ordering={"kind": "hashed"},
    )
    folder = Path(config.destination) / "nanogpt"
    held, train = (documents_of(folder / name) for name in ("val.bin", "train.bin"))
    assert min(len(held), len(train)) > 8
    every = [*held, *train]
    pairs = copies(plugin(MINHASH), documents(every)) | copies(plugin(EXACT), documents(every))
    assert pairs == set()
