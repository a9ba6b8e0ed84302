"""Repeated parts of documents, from files to published bytes, against a walk over the documents in order."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied import EXACT, MINHASH, ledger, page, web, write_ids
from corpora import published, request

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.types import Manifest

LEFT = {"min_bytes": 10, "min_left": 10}
PARAGRAPH: dict[str, Any] = {"kind": "paragraph", **LEFT}
SENTENCE: dict[str, Any] = {"kind": "sentence", "sentences": 3, **LEFT}


def run(
    folder: Path, files: list[dict[str, str]], *kinds: dict[str, Any], **rest: Any
) -> tuple[PrepareConfig, Manifest]:
    for number, texts in enumerate(files):
        write_ids(folder / "in" / f"{number}.jsonl", texts)
    config = request(folder, **{"sources": web(folder), "dedup": list(kinds), **rest})
    return config, pipeline.prepare(config)


def named(config: PrepareConfig) -> list[tuple[str, str]]:
    return [(row["id"], row["reason"]) for row in ledger(config)]


def test_the_first_paragraph_in_document_order_stays(tmp_path: Path) -> None:
    """A cookie notice stays once, in the first document of the first file; what is shorter stays everywhere."""
    notice = "We use cookies on this site."
    files = [
        {"a": f"Heading\n\n{notice}\n\nThe first story.", "b": f"Heading\n\nThe second story.\n\n{notice}"},
        {"c": f"{notice}\n\n{notice}\n\nThe third story.\n"},
    ]
    config, manifest = run(tmp_path, files, PARAGRAPH)
    assert published(config) == [files[0]["a"], "Heading\n\nThe second story.", "The third story."]
    assert named(config) == [("b", "parts_removed"), ("c", "parts_removed")]
    assert manifest.dropped == {}
    assert manifest.totals["characters"] == sum(map(len, published(config)))


def test_a_document_of_which_too_little_is_left_is_dropped_and_counted(tmp_path: Path) -> None:
    """A lone heading is no document; one that was short before and lost nothing is nobody's concern."""
    files = [{"a": "A story of some length.\n\nAnother one.", "b": "Top\n\nA story of some length.", "c": "short"}]
    config, manifest = run(tmp_path, files, PARAGRAPH)
    assert published(config) == [files[0]["a"], "short"]
    assert named(config) == [("b", "little_left")]
    assert manifest.dropped == {"little_left": 1}
    (shard,) = manifest.source_shards
    assert (shard.documents, shard.kept, shard.dropped) == (3, 2, {"little_left": 1})
    assert manifest.totals["documents"] == manifest.sources["web"]["documents"] == 2


def test_a_document_of_which_nothing_is_left_is_dropped(tmp_path: Path) -> None:
    """Its end-of-text token would be all there is of it."""
    files = [{"a": "A story of some length.\n\nAnother one.", "b": "Another one.\n\n \n\nA story of some length.\n"}]
    config, manifest = run(tmp_path, files, {**PARAGRAPH, "min_left": 0})
    assert published(config) == [files[0]["a"]]
    assert manifest.dropped == {"little_left": 1}


def test_no_part_goes_for_the_sake_of_one_in_a_copy(tmp_path: Path) -> None:
    """``copy`` is a near copy and goes whole: the paragraph that only it and ``c`` have must stay in ``c``."""
    story = page(1, 200)
    files = [{"a": story}, {"copy": f"{story}\n\nonly in two places"}, {"c": f"only in two places\n\n{page(2)}"}]
    config, manifest = run(tmp_path, files, MINHASH, PARAGRAPH)
    assert published(config) == [story, files[2]["c"]]
    assert manifest.dropped == {"duplicate_minhash": 1}
    assert [(row["id"], row["kept_id"]) for row in ledger(config)] == [("copy", "a")]


def test_no_part_goes_for_the_sake_of_one_in_a_contaminated_document(tmp_path: Path) -> None:
    question = " ".join(f"q{number}" for number in range(13))
    (tmp_path / "questions.txt").write_text(question)
    screen = {"kind": "decontaminate", "paths": [str(tmp_path / "questions.txt")]}
    files = [{"bad": f"only in two places\n\n{question}", "good": "only in two places\n\nand a story"}]
    config, _ = run(tmp_path, files, PARAGRAPH, screen)
    assert published(config) == [files[0]["good"]]


@pytest.mark.parametrize("spread", [False, True])
def test_no_part_goes_for_the_sake_of_one_in_a_document_with_little_left(tmp_path: Path, spread: bool) -> None:
    """``b`` loses most and is short then, but the rest of it is why ``c`` lost a part: dropped, it would be in none."""
    story = "A story of some length." + " More of it." * 5
    texts = {"a": story, "b": f"{story}\n\nthe rest of b", "c": "the rest of b\n\n" + "A third story. " * 5}
    files = [{name: text} for name, text in texts.items()] if spread else [texts]
    config, manifest = run(tmp_path, files, {**PARAGRAPH, "min_left": 40})
    assert published(config) == [story, "the rest of b", ("A third story. " * 5)]
    assert manifest.dropped == {}


def test_a_paragraph_repeated_in_its_own_document_does_not_save_it(tmp_path: Path) -> None:
    """No other document lost it: a page of one slogan is too short once the slogan stands there once."""
    config, manifest = run(tmp_path, [{"d": "the same again\n\n" * 5, "e": page(1)}], {**PARAGRAPH, "min_left": 40})
    assert published(config) == [page(1)]
    assert manifest.dropped == {"little_left": 1}


def test_a_source_of_higher_priority_keeps_its_paragraph(tmp_path: Path) -> None:
    """Its documents come first in the order of copies, though they are read last."""
    write_ids(tmp_path / "web" / "a.jsonl", {"w": "a well known passage\n\nquoted on a page"})
    write_ids(tmp_path / "books" / "a.jsonl", {"b": "a well known passage\n\nin its own book"})
    sources = [
        {"kind": "files", "name": name, "paths": [str(tmp_path / name)], "id_key": "id", "priority": priority}
        for name, priority in (("web", 0), ("books", 1))
    ]
    config, _ = run(tmp_path, [], PARAGRAPH, sources=sources)
    assert published(config) == ["quoted on a page", "a well known passage\n\nin its own book"]


def test_a_copied_passage_goes_whole_though_runs_overlap(tmp_path: Path) -> None:
    """Characters of several bytes stand at the cuts: one byte off, and the text is damaged."""
    passage = "\u4e2d\u6587\u4e00\u3002\u4e8c\u4e2d\u6587\uff01Three caf\u00e9s. Four here! Five there? "
    files = [{"a": f"{passage}The first end."}, {"b": f"A start of another. {passage}The second end is here."}]
    config, _ = run(tmp_path, files, SENTENCE)
    assert published(config) == [files[0]["a"], "A start of another. The second end is here."]


def slow(texts: list[str], run_length: int) -> list[str]:
    """Sentences ``x. `` of the documents in order, without every run of which the key was seen before."""
    seen: set[tuple[str, ...]] = set()
    found = []
    for text in texts:
        sentences = re.findall(r"\w+\. ?", text)
        stays = [True] * len(sentences)
        for place in range(len(sentences) - run_length + 1):
            key = tuple(sentence.strip() for sentence in sentences[place : place + run_length])
            if key in seen:
                stays[place : place + run_length] = [False] * run_length
            seen.add(key)
        found.append("".join(sentence for sentence, stay in zip(sentences, stays, strict=True) if stay))
    return [text for text in found if text.strip()]


@pytest.mark.parametrize("seed", range(5))
def test_random_documents_against_a_walk_in_order(tmp_path: Path, seed: int) -> None:
    """Whatever overlaps with what: what is removed is what a single pass in document order would remove."""
    draw = np.random.default_rng(seed)
    texts = [" ".join(f"w{n}." for n in draw.integers(0, 5, draw.integers(1, 15))) for _ in range(30)]
    files = [{f"{a}-{n}": text for n, text in enumerate(texts[a : a + 11])} for a in (0, 11, 22)]
    kind = {**SENTENCE, "sentences": 2, "min_bytes": 1, "min_left": 0}
    config, manifest = run(tmp_path, files, kind)
    wanted = slow(texts, 2)
    assert published(config) == wanted
    assert 5 < len(wanted) < 30
    assert manifest.dropped == {"little_left": 30 - len(wanted)}
    # The first place of every sentence stays, so none is lost altogether.
    words = {word for text in texts for word in text.split()}
    assert {word for text in wanted for word in text.split()} == words


@pytest.mark.parametrize("seed", range(3))
def test_no_sentence_is_lost_with_documents_of_which_little_is_left(tmp_path: Path, seed: int) -> None:
    """Each is dropped only where all that is left of it stands elsewhere or was repeated nowhere."""
    draw = np.random.default_rng(100 + seed)
    texts = [" ".join(f"w{n}." for n in draw.integers(0, 12, draw.integers(4, 12))) for _ in range(40)]
    config, manifest = run(
        tmp_path,
        [{str(n): text for n, text in enumerate(texts)}],
        {**SENTENCE, "sentences": 2, "min_bytes": 1, "min_left": 15},
    )
    assert manifest.dropped["little_left"] > 3
    runs = [set(zip(text.split(), text.split()[1:], strict=False)) for text in texts]
    often = {pair for pair in set.union(*runs) if sum(pair in found for found in runs) > 1}
    left = {word for text in published(config) for word in text.split()}
    assert {word for pair in often for word in pair} <= left
    lost = {row["id"] for row in ledger(config) if row["reason"] == "little_left"}
    assert len(published(config)) == 40 - len(lost)


def test_paragraphs_and_sentences_together(tmp_path: Path) -> None:
    """Cuts of two kinds overlap; a byte that both take must not be taken twice."""
    shared = "One sentence here. Two sentences here. Three sentences here."
    files = [{"a": f"{shared}\n\nThe story of a."}, {"b": f"{shared}\n\nThe story of b. And an end.", "c": shared}]
    config, manifest = run(tmp_path, files, EXACT, PARAGRAPH, SENTENCE)
    assert published(config) == [files[0]["a"], "The story of b. And an end."]
    assert manifest.dropped == {"little_left": 1}
    assert named(config) == [("b", "parts_removed"), ("c", "little_left")]


def test_a_cut_within_another_one_ends_nothing(tmp_path: Path) -> None:
    """The paragraph goes whole, though a sentence in it goes as well and the next ones are too short to go alone."""
    shared = "One long sentence is here. No. Yes."
    files = [{"a": f"{shared}\n\nThe story of a."}, {"b": f"{shared}\n\nThe story of b."}]
    config, _ = run(tmp_path, files, PARAGRAPH, {**SENTENCE, "sentences": 1})
    assert published(config) == [files[0]["a"], "The story of b."]


def test_what_is_trimmed_is_split_and_shuffled_like_any_document(tmp_path: Path) -> None:
    """Lengths and numbers of documents after the cut decide the split, not those before."""
    files = [{f"{f}-{n}": f"the same in all of them\n\nstory {f} {n} of many" for n in range(10)} for f in range(3)]
    config, manifest = run(tmp_path, files, PARAGRAPH, ordering={"kind": "nanogpt"}, split={"fraction": 0.2})
    assert {file.split: file.documents for file in manifest.files} == {"train": 24, "val": 6}
    wanted = [text if text.endswith(" 0 0 of many") else text[25:] for part in files for text in part.values()]
    assert sorted(published(config)) == sorted(wanted)
    characters = {"ordering": {"kind": "input"}, "split": {"kind": "characters", "fraction": 0.5}}
    _, manifest = run(tmp_path / "cut", files, PARAGRAPH, **characters)
    total = sum(map(len, wanted))
    ids = {file.split: file.tokens - file.eos for file in manifest.files}
    assert ids == {"train": total // 2, "val": total - total // 2}
