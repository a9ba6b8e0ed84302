"""Label masks from a run to a reader: published, sealed, counted, made again where they are verified."""

import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest
from corpora import reports, request, tree, write_documents
from manifests import write_manifest

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.inspection.verify import verify
from gristmill.manifest import read_manifest
from gristmill.readers.loader import Loader
from gristmill.readers.windows import Windows
from gristmill.stages.output.recount import block_digests
from gristmill.storage import disk
from gristmill.text.repeats import repeated

TEXTS = ["plain words", "=" * 500, "a line\n" + "-+" * 40 + " the end", "more words " * 3, "again " * 40]
HIDDEN = [0, 500, 80, 0, 241]
"""Ids of each text in 32 repeats or more, an id a byte; the blank before the last text is the end of a repeat."""


def configured(folder: Path, out: str, masks: str) -> PrepareConfig:
    olmo = {"kind": "olmo", "max_tokens": 700, "label_masks": masks}
    return request(folder, formats=[{"kind": "nanogpt"}, olmo], output=str(folder / out))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> PrepareConfig:
    """Two generations, with masks."""
    folder = tmp_path_factory.mktemp("masks")
    config = configured(folder, "out", "repetition")
    for generation, name in enumerate(("a", "b"), 1):
        write_documents(folder / "in" / f"{name}.jsonl", [f"{generation} {text}" for text in TEXTS])
        pipeline.prepare(config)
    return config


@pytest.fixture
def output(made: PrepareConfig, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    shutil.copytree(made.destination, tmp_path / "out")
    return tmp_path / "out"


def test_every_part_has_its_mask_and_the_counts_are_of_the_bytes(made: PrepareConfig) -> None:
    output, manifest = Path(made.destination), read_manifest(made.destination)
    parts = [file for file in manifest.files if file.format == "olmo"]
    assert len(parts) == 4
    for file in parts:
        assert file.mask is not None
        mask, ids = np.fromfile(output / file.mask.path, bool), np.fromfile(output / file.path, "<u2")
        assert np.array_equal(mask, ~repeated(ids))
        assert file.mask.hidden == np.count_nonzero(~mask)
    assert sum(file.mask.hidden for file in parts if file.mask) == 2 * sum(HIDDEN)
    listed = {entry.path: entry.sha256 for entry in manifest.attachments}
    assert {file.mask.path for file in parts if file.mask} <= set(listed)
    assert all(tree(output)[path] == digest for path, digest in listed.items())
    assert [file.mask for file in manifest.files if file.format == "nanogpt"] == [None, None]
    assert verify(str(output)).problems == []


def test_a_mask_that_does_not_follow_from_its_ids_is_found(output: Path) -> None:
    """Even where sums and digests were made to agree: a mask of other ids hides what should be learned."""
    manifest = read_manifest(output)
    file = next(file for file in manifest.files if file.mask and file.mask.hidden)
    assert file.mask is not None
    path = output / file.mask.path
    for value, said in ((0, "hidden"), (1, "to learn"), (7, "byte 7")):
        mask = np.fromfile(path, "u1")
        at = int(np.flatnonzero(mask != value)[3])
        changed = mask.copy()
        changed[at] = value
        changed.tofile(path)
        digest, blocks = disk.digest(path), block_digests(path)
        named = msgspec.structs.replace(file, mask=msgspec.structs.replace(file.mask, blocks=blocks))
        attachments = [
            msgspec.structs.replace(entry, sha256=digest) if entry.path == file.mask.path else entry
            for entry in manifest.attachments
        ]
        files = [named if found == file else found for found in manifest.files]
        write_manifest(output, msgspec.structs.replace(manifest, files=files, attachments=attachments))
        wanted = "to learn" if mask[at] else "hidden"
        assert f"{path}: id number {at}: {said}; expected {wanted} by its ids" in verify(str(output)).problems
        mask.tofile(path)


def test_a_wrong_count_and_a_mask_that_is_not_listed_are_found(output: Path) -> None:
    manifest = read_manifest(output)
    file = next(file for file in manifest.files if file.mask and file.mask.hidden)
    assert file.mask is not None
    for mask, problem in (
        (msgspec.structs.replace(file.mask, hidden=1), f"{file.mask.hidden} ids hidden; expected 1"),
        (None, f"label masks []; expected ['{file.mask.path}']"),
    ):
        files = [msgspec.structs.replace(found, mask=mask) if found == file else found for found in manifest.files]
        write_manifest(output, msgspec.structs.replace(manifest, files=files))
        assert any(problem in found for found in verify(str(output)).problems)


def test_readers_heed_the_masks_of_the_format_they_read(made: PrepareConfig) -> None:
    for format, hidden in (("olmo", True), ("nanogpt", False)):
        windows = Windows(made.destination, length=20, format=format)
        found = windows.read(np.arange(windows.blocks.sum()))
        assert (~found.mask).any() == hidden
    windows = Windows(made.destination, length=600, format="olmo")
    loader = Loader(windows, batch=int(windows.blocks.sum()), repetitions="mask")
    batch = loader.next()
    assert not (batch.mask & repeated(windows.read(np.arange(loader.batch)).ids)[:, 1:]).any()


def test_another_choice_of_masks_tokenizes_nothing_again(tmp_path: Path) -> None:
    """Marks change; the ids they mark do not."""
    config = configured(tmp_path, "first", "none")
    write_documents(tmp_path / "in" / "a.jsonl", TEXTS)
    pipeline.prepare(config)
    before = {report.fingerprint for report in reports(config) if report.stage != "upload"}
    pipeline.prepare(configured(tmp_path, "second", "repetition"))
    assert {report.fingerprint for report in reports(config) if report.stage != "upload"} == before
    first, second = tree(tmp_path / "first" / "olmo"), tree(tmp_path / "second" / "olmo")
    assert {name: second[name] for name in first if name.endswith(".npy")} == {
        name: digest for name, digest in first.items() if name.endswith(".npy")
    }
    assert "label_masks/train/part-00000.npy" in second
