"""Published ids against the input, made again by the reference: what checksums cannot know."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import yaml
from corpora import request, small_corpus, write_documents
from data import GPT2
from manifests import write_manifest

from gristmill import pipeline
from gristmill.commands.verify import main
from gristmill.config import PrepareConfig
from gristmill.inspection import against
from gristmill.inspection.verify import verify
from gristmill.manifest import read_manifest
from gristmill.stages.output.recount import block_digests
from gristmill.storage import disk


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> PrepareConfig:
    """A data set of three files with duplicates and a cleaning rule."""
    folder = tmp_path_factory.mktemp("made")
    texts = small_corpus(45)
    for number in range(3):
        write_documents(folder / "in" / f"{number}.jsonl.gz", [*texts[number * 15 : number * 15 + 15], texts[0], "x"])
    config = request(
        folder,
        cleaning=[{"kind": "length", "min_chars": 5}],
        dedup=[{"kind": "exact"}],
        tokenizer={"kind": "huggingface", "path": str(GPT2)},
        ordering={"kind": "nanogpt"},
        split={"fraction": 0.1},
    )
    pipeline.prepare(config)
    return config


def tampered(output: Path, name: str, ids: Any) -> None:
    """Replace a file and recompute every checksum and count about it, so that the manifest alone cannot tell."""
    path = output / name
    np.asarray(ids, "<u2").tofile(path)
    manifest = read_manifest(output)
    files = [
        msgspec.structs.replace(
            file,
            sha256=disk.digest(path),
            bytes=path.stat().st_size,
            tokens=len(ids),
            max_id=int(np.max(ids)),
            blocks=block_digests(path),
        )
        if file.path == name
        else file
        for file in manifest.files
    ]
    write_manifest(output, msgspec.structs.replace(manifest, files=files))


@pytest.fixture
def restored(made: PrepareConfig) -> Any:
    """The output, put back as it was after the test."""
    output = Path(made.destination)
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    yield output
    for path, data in before.items():
        path.write_bytes(data)


def test_what_was_published_is_what_the_input_gives(made: PrepareConfig) -> None:
    """The other tests here mean nothing if good data differs; the work area of the run is not used."""
    Path(made.execution.work).rename(f"{made.execution.work}-away")
    assert against.compare(made.destination, made) == []
    assert not Path(made.execution.work).exists()


@pytest.mark.parametrize("name", ["nanogpt/train.bin", "nanogpt/val.bin"])
def test_one_changed_id_is_named_with_what_was_expected(made: PrepareConfig, restored: Path, name: str) -> None:
    """Checksums recomputed after the change hide it from everything but the text itself."""
    path = restored / name
    ids = np.fromfile(path, "<u2")
    place = len(ids) * 2 // 3
    expected = int(ids[place])
    ids[place] = (expected + 1) % 50256
    tampered(restored, name, ids)
    assert verify(str(restored)).problems == []
    found = against.compare(str(restored), made)
    assert found == [f"{path}: id {place}: {ids[place]}; expected {expected}"]


def test_a_lost_or_added_end_is_named(made: PrepareConfig, restored: Path) -> None:
    """The last document missing, or one too many: the common prefix is equal."""
    path = restored / "nanogpt" / "train.bin"
    ids = np.fromfile(path, "<u2")
    tampered(restored, "nanogpt/train.bin", ids[:-3])
    wanted = f"{path}: id {len(ids) - 3}: the end of the file; expected {ids[-3]}"
    assert against.compare(str(restored), made) == [wanted]
    tampered(restored, "nanogpt/train.bin", [*ids, 5, 50256])
    assert against.compare(str(restored), made) == [f"{path}: id {len(ids)}: 2 ids more than the input gives"]


def test_another_configuration_is_said_to_be_another(made: PrepareConfig) -> None:
    """Compared with the wrong rules, every id differs; the message must say why."""
    other = made.model_copy(update={"dedup": []})
    found = against.compare(made.destination, other)
    assert found[0] == f"{made.destination}: made with other dedup than the given configuration"
    assert any("train.bin: id " in problem for problem in found[1:])


def test_the_input_changed_since(made: PrepareConfig) -> None:
    """Text edited after publishing: the ids no longer stand for it."""
    path = Path(made.destination).parent / "in" / "1.jsonl.gz"
    before = path.read_bytes()
    write_documents(path, ["quite another text than before", *small_corpus(20)[16:]])
    found = against.compare(made.destination, made)
    path.write_bytes(before)
    assert any("train.bin: id " in problem for problem in found)


def test_by_command(made: PrepareConfig, restored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The comparison must reach the exit status: 0 equal, 1 different, 2 no such configuration."""
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(made.model_dump(mode="json")))
    assert main([str(restored), "--against", str(config)]) == 0
    ids = np.fromfile(restored / "nanogpt" / "train.bin", "<u2")
    ids[10] += 1
    tampered(restored, "nanogpt/train.bin", ids)
    assert main([str(restored)]) == 0
    capsys.readouterr()
    assert main([str(restored), "--against", str(config)]) == 1
    assert f"train.bin: id 10: {ids[10]}; expected {ids[10] - 1}" in capsys.readouterr().err
    assert main([str(restored), "--against", str(tmp_path / "none.yaml")]) == 2
