"""The whole library from raw files to published bytes, against references that share no code with it."""

import hashlib
import pickle
from pathlib import Path
from typing import Any

import pytest
from corpora import nanogpt_reference, published, request, small_corpus, tree, write_documents
from data import GPT2, SHAKESPEARE, SHARED, needs_shared

from gristmill import pipeline
from gristmill.config import PrepareConfig

NANOGPT: dict[str, Any] = {
    "tokenizer": {"kind": "huggingface", "path": str(GPT2)},
    "ordering": {"kind": "nanogpt", "seed": 2357},
    "split": {"fraction": 0.0005},
}


def test_nanogpt_bytes_equal_an_independent_reference(tmp_path: Path) -> None:
    """A shuffle, split, EOT or cast that differs in one document trains another model than nanoGPT's own script."""
    texts = [*small_corpus(600), "<|endoftext|> is text", "<|endoftext|>"]
    for number in range(3):
        write_documents(tmp_path / "in" / f"part-{number}.jsonl.gz", texts[number * 250 : (number + 1) * 250])
    pipeline.prepare(request(tmp_path, **NANOGPT))
    wanted = nanogpt_reference(texts, 0.0005)
    for name, data in wanted.items():
        assert (tmp_path / "out" / "nanogpt" / name).read_bytes() == data, name


@needs_shared
def test_golden_corpus_in_the_order_of_nanogpt(tmp_path: Path) -> None:
    """The sums of what ``nanogpt_reference`` makes of 5,486 documents in 8 s: 7,115,568 and 2,836 ids."""
    source = {"kind": "files", "paths": [str(SHARED / "corpus" / "small")]}
    pipeline.prepare(request(tmp_path, sources=[source], **NANOGPT))
    assert sums(tmp_path / "out" / "nanogpt") == {
        "train.bin": "02a18f6b19b91442d7a14b5f0d208fe1642e4822a53438418a22bea904b1cccb",
        "val.bin": "d4fc0e888bb2e3354421a031f89dc85d6da59b20a514f3912ffecd1eceb4244e",
    }


def test_a_share_that_is_no_whole_number_is_rounded_up(tmp_path: Path) -> None:
    """Rounding down, or at all, would move one document between train and validation."""
    texts = small_corpus(61)
    write_documents(tmp_path / "in" / "all.jsonl", texts)
    pipeline.prepare(request(tmp_path, **NANOGPT | {"split": {"fraction": 0.1}}))
    wanted = nanogpt_reference(texts, 0.1)
    for name, data in wanted.items():
        assert (tmp_path / "out" / "nanogpt" / name).read_bytes() == data, name


def shakespeare(folder: Path, **settings: Any) -> Path:
    source = {"kind": "files", "paths": [str(SHAKESPEARE)]}
    rest = {"split": {"kind": "characters", "fraction": 0.1}, "formats": [{"kind": "nanogpt", "eot": "none"}]}
    config = request(folder, sources=[source], **rest, **settings)
    pipeline.prepare(config)
    return Path(config.destination) / "nanogpt"


def sums(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("train.bin", "val.bin")}


def test_golden_shakespeare_by_configuration_only(tmp_path: Path) -> None:
    """The known sums of nanoGPT's data/shakespeare: a cut by bytes instead of characters, or an EOT, breaks them."""
    made = shakespeare(tmp_path, tokenizer={"kind": "huggingface", "path": str(GPT2)})
    assert sums(made) == {
        "train.bin": "502a2bdc8210d1ac5d5674867cb74467dd31db575d25cf6dbb08c8bdbea8680f",
        "val.bin": "68a53422394c26a655ebe641f5c6f49888e8f4e45fe5d6f02abda63ba3ebd65b",
    }


def test_golden_shakespeare_by_characters_with_its_meta_file(tmp_path: Path) -> None:
    """nanoGPT's data/shakespeare_char: ids by code point, and the ``meta.pkl`` that its sample.py decodes with."""
    made = shakespeare(tmp_path, tokenizer={"kind": "characters"})
    assert sums(made) == {
        "train.bin": "6ec305602a99ac2802745a134e1f5e33e2231b4855525b00b9aebb730ac2626f",
        "val.bin": "d37d30cc0c8327c270d493299c3dca54135f6d5f1c9ef60cda78076e311204b1",
    }
    characters = sorted(set(SHAKESPEARE.read_text()))
    assert pickle.loads((made / "meta.pkl").read_bytes()) == {
        "vocab_size": 65,
        "itos": dict(enumerate(characters)),
        "stoi": {character: number for number, character in enumerate(characters)},
    }


def listed(folder: Path, name: str, paths: list[str]) -> PrepareConfig:
    place = folder / name
    source = {"kind": "files", "name": "web", "paths": paths}
    settings: dict[str, Any] = {"sources": [source], "output": str(place / "out"), "execution": {"work": str(place)}}
    return request(folder, dedup=[{"kind": "exact"}], ordering={"kind": "nanogpt"}, split={"fraction": 0.1}, **settings)


def test_files_give_the_same_bytes_however_they_are_listed(tmp_path: Path) -> None:
    """A corpus listed by another machine's directory order must not become another data set."""
    texts = small_corpus(90)
    parts = {"b.jsonl": texts[:30], "a.jsonl.gz": texts[20:60], "sub/c.jsonl": texts[50:90]}
    for name, part in parts.items():
        write_documents(tmp_path / "in" / name, part)
    paths = [str(tmp_path / "in" / name) for name in parts]
    ways = {
        "listed": paths,
        "backwards": paths[::-1],
        "twice": [*paths, *paths],
        "folder": [str(tmp_path / "in")],
        "glob": [str(tmp_path / "in" / "**" / "*.jsonl*")],
        "mixed": [str(tmp_path / "in" / "sub"), str(tmp_path / "in" / "*.jsonl"), paths[1]],
    }
    trees = {}
    for name, given in ways.items():
        config = listed(tmp_path, name, given)
        manifest = pipeline.prepare(config)
        assert manifest.totals["documents"] == 90
        trees[name] = tree(Path(config.destination) / "nanogpt")
    assert all(made == trees["listed"] for made in trees.values()), trees


@pytest.mark.parametrize("ordering", ["nanogpt", "hashed"])
def test_shuffled_documents_are_all_there_once(tmp_path: Path, ordering: str) -> None:
    """An ordering with a collision or a gap would repeat some documents and lose others."""
    texts = [f"document {number}" for number in range(500)]
    for number in range(5):
        write_documents(tmp_path / "in" / f"{number}.jsonl", texts[number * 100 : number * 100 + 100])
    config = request(tmp_path, ordering={"kind": ordering}, split={"fraction": 0.2})
    manifest = pipeline.prepare(config)
    found = published(config)
    assert sorted(found) == sorted(texts)
    assert found != texts
    assert {file.split: file.documents for file in manifest.files}["val"] in range(60, 141)
