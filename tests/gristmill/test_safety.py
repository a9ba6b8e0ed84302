"""What comes from outside is data: it is never run, and it never says where something is written."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from corpora import request, write_documents

from gristmill import pipeline
from gristmill.config import yaml_file
from gristmill.manifest import read_manifest

ROOT = Path(__file__).resolve().parents[2]
CODE = [path for folder in ("gristmill", "tasks", "flows") for path in sorted((ROOT / folder).rglob("*.py"))]

LOADERS = {"dill", "cloudpickle", "joblib", "marshal", "shelve", "torch"}
"""Modules that run what they read; nanoGPT wants one file written by ``pickle``."""

CALLS = {"eval", "exec", "yaml.unsafe_load", "yaml.full_load", "os.system", "extractall"}


def dangers(code: str) -> Iterator[str]:
    """Whatever in a module could run or unpack what was read."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None)
            names = [module or "", *(f"{alias.name}" for alias in node.names)]
            yield from (name for name in names if name.partition(".")[0] in LOADERS)
            yield from ["from pickle"] if module == "pickle" else []
        if isinstance(node, ast.Call):
            called, settings = ast.unparse(node.func), [ast.unparse(keyword) for keyword in node.keywords]
            if called in CALLS or called.rpartition(".")[2] in CALLS - {"eval", "exec"}:
                yield called
            if called.startswith("pickle.") and called != "pickle.dumps":
                yield called
            if called == "yaml.load" and settings != ["Loader=_StrictLoader"]:
                yield called
            yield from (setting for setting in settings if setting in ("shell=True", "allow_pickle=True"))


def test_nothing_that_is_read_is_ever_run() -> None:
    """A pickle in a bucket, or a tag in a YAML file, would run as whoever prepares the data."""
    assert len(CODE) > 100
    feed = Path("readers/torch.py")  # hands arrays to PyTorch, and loads nothing by it
    found = [(path, danger) for path in CODE for danger in dangers(path.read_text())]
    assert [f"{path}: {danger}" for path, danger in found if not (path.match(str(feed)) and danger == "torch")] == []
    assert issubclass(yaml_file._StrictLoader, yaml.SafeLoader)


@pytest.mark.parametrize(
    "code",
    [
        "from pickle import loads",
        "pickle.loads(data)",
        "pickle.Unpickler(file)",
        "from joblib import load",
        "yaml.load(text, Loader=yaml.Loader)",
        "yaml.unsafe_load(text)",
        "np.load(path, allow_pickle=True)",
        "subprocess.run(line, shell=True)",
        "archive.extractall(folder)",
        "eval(text)",
    ],
)
def test_the_search_finds_what_it_looks_for(code: str) -> None:
    assert list(dangers(code))


def test_a_tag_in_a_configuration_is_refused(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (tmp_path / "bad.yaml").write_text(f"dataset: !!python/object/apply:os.mkdir ['{made}']\n")
    with pytest.raises(yaml_file.ConfigError, match="not valid YAML"):
        yaml_file.read(str(tmp_path / "bad.yaml"), {})
    assert not made.exists()


NAMES = [
    "../../../escaped",
    "/tmp/escaped",
    "..\\escaped",
    "a\u202eb",
    "~/escaped",
    "$(touch escaped)",
    "%2e%2e/escaped",
]


@pytest.mark.parametrize("source", NAMES)
def test_names_of_sources_and_documents_form_no_path(tmp_path: Path, source: str) -> None:
    """A document called ``../../.ssh/authorized_keys`` must stay a document."""
    folder = tmp_path / "place"
    (folder / "in").mkdir(parents=True)
    texts = [f"document {number} with words of its own" for number in range(len(NAMES))]
    rows = [{"text": text, "id": name} for text, name in zip(texts, NAMES, strict=True)]
    rows += [{"text": texts[0], "id": "../copy"}, {"text": 7, "id": "../bad"}, {"text": " ", "id": "../blank"}]
    (folder / "in" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_documents(folder / "in" / "x..%2f..%2fescaped.jsonl", ["an odd name"])
    config = request(
        folder,
        sources=[{"kind": "files", "name": source, "paths": [str(folder / "in")], "id_key": "id"}],
        cleaning=[{"kind": "length", "min_chars": 5}],
        dedup=[{"kind": "exact"}],
        max_quarantined_share=1.0,
    )
    pipeline.prepare(config)
    manifest = read_manifest(config.destination)
    assert list(manifest.sources) == [source]
    assert manifest.totals["documents"] == len(NAMES) + 1
    assert sum(manifest.quarantined.values()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert {path.name for path in folder.iterdir()} == {"in", "out", "work", "tokenizer.json"}
    written = [path for place in ("out", "work") for path in (folder / place).rglob("*")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", path.name) for path in written), written
    assert not any("escaped" in path.name or "copy" in path.name for path in written)
