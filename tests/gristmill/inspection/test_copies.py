"""Copies among published documents, found from the tokens alone."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from copied import EXACT, MINHASH, changed, page, web, write_ids
from corpora import EOT, request
from manifests import write_manifest
from texts import documents

from gristmill import pipeline
from gristmill.commands.verify import main
from gristmill.config import PrepareConfig
from gristmill.dedup.base import Dedup
from gristmill.errors import ConfigError
from gristmill.inspection import copies
from gristmill.manifest import read_manifest
from gristmill.plugins import kinds_by_fact, load
from gristmill.stages.output.recount import block_digests
from gristmill.storage import disk


def made(folder: Path, **settings: Any) -> PrepareConfig:
    """Pages, copies of them and paragraphs that repeat, in two splits."""
    texts = {f"d{n}": page(n) for n in range(20)} | {f"n{n}": changed(page(n), 5) for n in range(5)} | {"e": page(1)}
    write_ids(folder / "in" / "a.jsonl", texts)
    rest = {"split": {"fraction": 0.3}, "ordering": {"kind": "hashed"}, "dedup": [EXACT, MINHASH]}
    config = request(folder, sources=web(folder), **{**rest, **settings})
    pipeline.prepare(config)
    return config


def replaced(output: Path, name: str, ids: np.ndarray) -> None:
    """Put other ids into a file and seal the manifest anew: checksums and counts agree."""
    path = output / name
    ids.astype("<u2").tofile(path)
    manifest = read_manifest(output)
    count = int((ids == EOT).sum())
    files = [
        msgspec.structs.replace(
            file,
            sha256=disk.digest(path),
            bytes=path.stat().st_size,
            tokens=len(ids),
            documents=count,
            eos=count,
            blocks=block_digests(path),
            boundaries=file.boundaries[:1],
        )
        if file.path == name
        else file
        for file in manifest.files
    ]
    write_manifest(output, msgspec.structs.replace(manifest, files=files))


def streams(output: Path) -> dict[str, list[np.ndarray]]:
    """The documents of each file, each with its end of text."""
    found = {}
    for name in ("train.bin", "val.bin"):
        ids = np.fromfile(output / "nanogpt" / name, "<u2")
        found[name] = np.split(ids, np.flatnonzero(ids == EOT) + 1)[:-1]
    return found


@pytest.mark.parametrize("dedup", [[EXACT], [EXACT, MINHASH], [{**MINHASH, "confirm": "exact"}]])
def test_a_good_data_set_has_none(tmp_path: Path, dedup: list[dict[str, Any]]) -> None:
    config = made(tmp_path, dedup=[*dedup, {"kind": "paragraph"}])
    assert copies.look(config.destination) == []
    assert main([config.destination, "--copies"]) == 0


def test_a_planted_copy_is_found_and_told_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy of a validation document in train makes the loss lie, and no checksum tells."""
    config = made(tmp_path)
    output = Path(config.destination)
    parts = streams(output)
    near = parts["train.bin"][1].copy()
    near[10:12] = near[20:22]
    replaced(output, "nanogpt/train.bin", np.concatenate([*parts["train.bin"], parts["val.bin"][0], near]))
    assert main([config.destination]) == 0
    assert main([config.destination, "--copies"]) == 1
    problems = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert problems == [
        f"error: {output}: 1 pairs of exact copies among the published documents, 1 of them between validation and "
        "train; expected none",
        f"error: {output}: 2 pairs of minhash copies among the published documents, 1 of them between validation and "
        "train; expected none",
    ]


def test_a_data_set_that_was_made_without_it_cannot_be_asked(tmp_path: Path) -> None:
    """It would pass for free of copies, though nobody looked."""
    config = made(tmp_path, dedup=[{"kind": "paragraph"}])
    with pytest.raises(ConfigError, match=r"made without .*exact.*, so copies were never taken out of it"):
        copies.look(config.destination)
    assert main([config.destination, "--copies"]) == 2


@pytest.mark.parametrize("kind", kinds_by_fact("dedup", "compares_text", True))
def test_a_kind_that_is_asked_reads_nothing_but_the_text(kind: str) -> None:
    """One that read a further column would find no copies in what tokens give back, and none would be reported."""
    plugin = load("dedup", {"kind": kind})
    assert isinstance(plugin, Dedup)
    one, two = (plugin.sign(documents([page(1), page(2)], **rest)) for rest in ({}, {"url": ["a", "b"]}))
    assert one.valid.all()
    for name in ("bands", "check", "valid"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_earlier_data_need_not_be_there_any_more(tmp_path: Path) -> None:
    """What a data set was held against has nothing to do with copies within it."""
    write_ids(tmp_path / "old" / "in" / "a.jsonl", {"a": page(3)})
    old = request(tmp_path / "old", sources=web(tmp_path / "old"))
    pipeline.prepare(old)
    config = made(tmp_path / "new", against=[old.destination])
    Path(old.destination).rename(tmp_path / "gone")
    assert copies.look(config.destination) == []
