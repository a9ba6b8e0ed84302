"""Code in the pages on packing and readers runs as it stands, on data sets of the names that it uses."""

import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from corpora import byte_tokenizer, write_documents
from data import real_texts

from gristmill import pipeline
from gristmill.config import parse

DOCS = Path(__file__).resolve().parents[2] / "docs"
LANGUAGES = re.compile(r"^```(python|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    found = LANGUAGES.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    return [text for kind, text in found if kind == language]


EXAMPLES = [
    pytest.param(text, id=f"{page}-{number}")
    for page in ("packing", "readers")
    for number, text in enumerate(blocks(page, "python"))
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``out/web-2026`` of two sources, and ``out/rows`` by the configuration in the page."""
    folder = tmp_path_factory.mktemp("examples")
    tokenizer = {"kind": "huggingface", "path": str(byte_tokenizer(folder / "tokenizer.json"))}
    common = {"tokenizer": tokenizer, "split": {"kind": "none"}, "execution": {"work": str(folder / "work")}}
    (document,) = [yaml.safe_load(text) for text in blocks("packing", "yaml")]
    for name in ("web", "books"):
        lines = [f"{name} {number} " * 40 for number in range(60)]
        write_documents(folder / "data" / name / "a.jsonl.gz", lines)
    web = [{"kind": "files", "name": name, "paths": [str(folder / "data" / name)]} for name in ("web", "books")]
    document["sources"] = web
    for name, settings in (("web-2026", {"sources": web}), ("rows", document)):
        pipeline.prepare(parse({**settings, "dataset": name, **common, "output": str(folder / "out" / name)}))
    return folder


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_code_of_the_pages_runs(text: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first thing that a reader copies."""
    monkeypatch.chdir(data)
    if "readers.torch" in text:
        pytest.importorskip("torch")
    exec(compile(text, "page", "exec"), {})


def test_there_is_code_in_both_pages() -> None:
    assert {param.id.partition("-")[0] for param in EXAMPLES} == {"packing", "readers"}


def test_the_training_loop_compiles_and_runs(tmp_path: Path) -> None:
    """Two steps of it where PyTorch is installed."""
    (script,) = blocks("train-example", "python")
    compile(script, "train.py", "exec")
    (settings,) = [yaml.safe_load(text) for text in blocks("train-example", "yaml")]
    (tmp_path / "input.txt").write_text("To be, or not to be, that is the question.\n" * 400)
    settings["sources"][0]["paths"] = [str(tmp_path / "input.txt")]
    settings |= {"output": str(tmp_path / "out" / "shakespeare"), "execution": {"work": str(tmp_path / "work")}}
    assert pipeline.prepare(parse(settings)).files[1].split == "val"
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(script)
    done = subprocess.run([sys.executable, "train.py", "2"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "step 0: validation loss " in done.stdout


def test_the_first_example_of_the_readme_runs_on_a_folder_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asked for gzip files and a tokenizer that a reader with a folder of notes does not have."""
    texts = list(real_texts()[:90])
    (tmp_path / "notes").mkdir()
    for number, text in enumerate(texts[:30]):
        (tmp_path / "notes" / f"{number}.txt").write_text(text, encoding="utf-8")
    write_documents(tmp_path / "notes" / "b.jsonl", texts[30:60])
    pq.write_table(pa.table({"text": texts[60:]}), tmp_path / "notes" / "c.parquet")
    page = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    example = next(text for kind, text in LANGUAGES.findall(page) if kind == "yaml")
    monkeypatch.chdir(tmp_path)
    manifest = pipeline.prepare(parse(yaml.safe_load(example)))
    assert manifest.totals["documents"] == 90
    assert {file.path for file in manifest.files} == {"nanogpt/train.bin", "nanogpt/val.bin"}
