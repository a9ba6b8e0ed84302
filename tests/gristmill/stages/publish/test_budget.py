"""What a run will take on disk, told before it: held against what runs take."""

import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpora import request

from gristmill import pipeline
from gristmill.config import PrepareConfig
from gristmill.errors import NoSpaceError
from gristmill.stages.ingest.plan import plan
from gristmill.stages.publish.budget import budget, check_space
from gristmill.types import Budget

BLOCK = 4096

CHANCE = random.Random(7)
WORDS = ["".join(CHANCE.choices("etaoinshrdlu", k=CHANCE.randint(1, 9))) for _ in range(2000)]


def text(words: int) -> str:
    return " ".join(CHANCE.choices(WORDS, k=words))


def web(rows: int) -> bytes:
    """Most of its documents are short, and what is not text is a third of it."""
    lines = (
        {"id": f"doc-{row}", "text": text(CHANCE.choice([20, 20, 20, 200])), "html": text(30)} for row in range(rows)
    )
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def table(rows: int) -> bytes:
    out = io.BytesIO()
    columns = {"id": [str(row) for row in range(rows)], "html": [text(300) for _ in range(rows)]}
    pq.write_table(pa.table({**columns, "text": [text(100) for _ in range(rows)]}), out, compression="zstd")
    return out.getvalue()


LONG = [{"kind": "unicode"}, {"kind": "length", "min_chars": 500}]

CORPORA: dict[str, tuple[dict[str, Callable[[], bytes]], dict[str, Any]]] = {
    "filtered web text": (
        {f"{part}.jsonl.gz": lambda: gzip.compress(web(1500)) for part in range(3)},
        {"cleaning": LONG, "dedup": [{"kind": "exact"}, {"kind": "minhash"}]},
    ),
    "many small files": (
        {f"{part:03}.txt": lambda: text(60).encode() for part in range(30)},
        {"dedup": [{"kind": "exact"}]},
    ),
    "small files under many rules": (
        {f"{part:03}.txt": lambda: text(600).encode() for part in range(30)},
        {"cleaning": [*LONG, {"kind": "gopher_repetition"}], "dedup": [{"kind": "exact"}]},
    ),
    "a column of a table": ({f"{part}.parquet": lambda: table(1000) for part in range(6)}, {}),
    "books without repeats": (
        {f"{part}.txt": lambda: "\n".join(text(60) for _ in range(300)).encode() for part in range(6)},
        {"cleaning": [{"kind": "whitespace"}], "dedup": [{"kind": "sentence"}]},
    ),
    "a sample of a plain file": ({"a.jsonl": lambda: web(8000)}, {"sample_rate": 0.3}),
    "two sides and text": (
        {"a.jsonl": lambda: web(3000)},
        {"formats": [{"kind": "nanogpt"}, {"kind": "llmc"}, {"kind": "nanochat_text", "world_size": 1}]},
    ),
}


def corpus(folder: Path, name: str, **settings: Any) -> Any:
    """The configuration of a corpus, whose files are made."""
    files, own = CORPORA[name]
    (folder / "in").mkdir()
    for file, make in files.items():
        (folder / "in" / file).write_bytes(make())
    own = {**own, **settings}
    source = {"kind": "files", "name": "web", "paths": [str(folder / "in")]}
    source |= {key: own.pop(key) for key in ("sample_rate",) if key in own}
    return request(folder, sources=[source], split={"fraction": 0.01}, **own)


def planned(config: PrepareConfig) -> Budget:
    return budget(plan(config).shards, config)


def used(folder: Path) -> int:
    """What a file system takes for a folder: whole blocks of its files, and one for each folder."""
    sizes = [path.stat().st_size if path.is_file() else 1 for path in folder.rglob("*")]
    return sum(-(-size // BLOCK) * BLOCK for size in sizes)


@pytest.mark.parametrize("name", CORPORA)
def test_the_estimate_is_near_what_a_run_takes(tmp_path: Path, name: str) -> None:
    """It was 8 times too high for filtered web text, whose runs were refused, and too low by half for small files,
    whose runs filled the disk."""
    config = corpus(tmp_path, name)
    found = planned(config)
    pipeline.prepare(config)
    work = used(tmp_path / "work")
    assert 0.7 < found.work_bytes / work < 1.4, (found, work)
    published = sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert 0.6 < found.output_bytes / published < 1.5, (found, published)
    assert found.work_least < work
    assert found.output_least < published


def test_only_a_run_that_cannot_fit_is_refused(tmp_path: Path) -> None:
    """An estimate that is a little too high must not keep anybody from a run that fits."""
    config = corpus(tmp_path, "filtered web text")
    needed = planned(config)
    enough = msgspec.structs.replace(needed, work_free=needed.work_bytes, output_free=10**12)
    assert check_space(enough, config) == []
    (warning,) = check_space(msgspec.structs.replace(enough, work_free=needed.work_least), config)
    assert warning.startswith(f"work area {tmp_path}/work: about ")
    with pytest.raises(NoSpaceError, match=r"work area .* at least"):
        check_space(msgspec.structs.replace(enough, work_free=needed.work_least - 1), config)


def test_what_cannot_be_read_or_had_is_estimated_by_its_name(tmp_path: Path) -> None:
    """A damaged file, or a tokenizer that is not there, must be told by the check that is meant for it."""
    config = corpus(tmp_path, "filtered web text")
    for file in (tmp_path / "in").iterdir():
        file.write_bytes(b"\x1f\x8b\x08" + bytes(997))
    (tmp_path / "tokenizer.json").write_text("{}")
    (part,) = planned(config).sources
    assert (part.looked_into, part.stored, part.text) == (0, 3000, 12_000)
