"""What every format keeps, whatever its layout: nothing lost, nothing added, no file touched twice."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpora import request, small_corpus, tree, write_documents
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import Documents, put, read

from gristmill import pipeline, plugins
from gristmill.commands.samples import windows
from gristmill.config import PrepareConfig
from gristmill.errors import ConfigError, VerificationError
from gristmill.formats.base import Format, RowFormat
from gristmill.inspection import against
from gristmill.inspection.verify import verify
from gristmill.manifest import read_manifest
from gristmill.stages.dedup.recall import decode_published, document_files
from gristmill.types import DOCUMENT, Manifest

ROWS = plugins.kinds_by_fact("formats", "holds", "rows")  # are no stream; see stages/output/test_rows
KINDS = [kind for kind in plugins.kinds("formats") if kind not in ROWS]
FURTHER: dict[str, dict[str, Any]] = {
    "build_nanogpt": {"least_tokens": 5},
    "huggingface": {"row_group": 2},
    "llmc": {"least_tokens": 5},
    "mds": {"max_length": 5, "size_limit": 1 << 16},
    "nanochat_text": {"world_size": 1},
    "olmo": {"label_masks": "repetition"},
}
"""What some need beside ``cut_by`` to make several files of a few documents."""

every = pytest.mark.parametrize("kind", KINDS)


def cut(kind: str, most: int = 50) -> dict[str, Any]:
    """Settings for files of up to ``most`` ids, where a split is not one file."""
    cut_by = plugins.fact("formats", kind, "cut_by")
    return {"kind": kind, **({str(cut_by): most} if cut_by else {}), **FURTHER.get(kind, {})}


def loaded(settings: dict[str, Any]) -> Format:
    found = plugins.load("formats", settings)
    assert isinstance(found, Format)
    return found


def small(kind: str) -> Format:
    return loaded(cut(kind))


def stream(format: Format, documents: list[list[int]]) -> Documents:
    """Of ids; for a format that holds text, of letters."""
    if format.holds == "text":
        documents = [[97 + token % 26 for token in ids] for ids in documents]
    return Documents(documents, format.eot)


documents = st.lists(st.lists(st.integers(1, 50256), min_size=1, max_size=40), min_size=6, max_size=20)


@every
@settings(deadline=None, max_examples=6)
@given(train=documents, val=documents)
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, kind: str, train: list[list[int]], val: list[list[int]]
) -> None:
    """The overflow of a document at a part's end, a header read as ids, a type that does not fit: all would show."""
    folder, format = tmp_path_factory.mktemp("files"), small(kind)
    streams = {"train": stream(format, train), "val": stream(format, val)}
    published = put(folder, format, streams)
    for split, written in streams.items():
        found = read(folder, format, published, split)
        left = written.length - len(found)
        assert found == written.ids[: len(found)]
        assert 0 <= left < (5 if kind == "mds" else 1)
    assert len({file.path for file in published}) == len(published)


@every
def test_a_file_that_was_cut_is_refused(tmp_path: Path, kind: str) -> None:
    """Half an id, half a sample or half a table at the end would be left out without a word."""
    format = small(kind)
    streams = {split: stream(format, [[3, 4, 5]] * 6) for split in ("train", "val")}
    file = put(tmp_path, format, streams)[0]
    path = tmp_path / file.path.partition("/")[2]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(VerificationError, match=str(path)):
        list(format.blocks(path, format.dtype(50257)))


@every
def test_a_vocabulary_that_needs_uint32_is_kept_or_refused(kind: str) -> None:
    """A cast to the reader's type would wrap ids around."""
    format = small(kind)
    stored = format.dtype(1 << 17)
    fits = "<u4" in format.dtypes
    assert not fits or format.holds == "text" or np.iinfo(stored).max >= (1 << 17) - 1
    assert fits or set(format.dtypes) == {"<u2"}


FILE_TOKENS = 15_000
"""Ids a file of the data set below: some documents, and for its largest a file of its own."""

ALL = [cut(kind, FILE_TOKENS) for kind in KINDS]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> PrepareConfig:
    """A data set of all formats at once, in two generations."""
    folder = tmp_path_factory.mktemp("all")
    texts = small_corpus(40)
    config = request(folder, formats=ALL, split={"kind": "fraction", "fraction": 0.2}, ordering={"kind": "hashed"})
    write_documents(folder / "in" / "a.jsonl", texts[:25])
    pipeline.prepare(config)
    first = tree(folder / "out")
    write_documents(folder / "in" / "b.jsonl", texts[25:])
    pipeline.prepare(config)
    after = tree(folder / "out")
    assert {name: after[name] for name in first if name not in ("manifest.json", "README.md")} == {
        name: digest for name, digest in first.items() if name not in ("manifest.json", "README.md")
    }
    return config


def texts_of(manifest: Manifest, output: Path, kind: str, split: str) -> list[list[int]]:
    """The ids of every document by the lists of documents, end of text taken off; cut ones put together."""
    format = next(found for found in PrepareConfig.model_validate(manifest.config).formats if found.kind() == kind)
    found = []
    for generation in (1, 2):
        own = [
            file for file in manifest.files if (file.format, file.split, file.generation) == (kind, split, generation)
        ]
        dtype = format.dtype(manifest.tokenizer.vocab_size)
        ids = [token for file in own for block in format.blocks(output / file.path, dtype) for token in block.tolist()]
        lists = [np.frombuffer((output / "documents" / file.path).read_bytes(), DOCUMENT)["length"] for file in own]
        position = 0
        for length in np.concatenate(lists).tolist():
            start = position + (format.eot == "prepend")
            found.append(ids[start : start + length])
            position += length + (format.eot != "none")
        assert position - len(ids) < (5 if kind == "mds" else 1)
    return found


@every
def test_all_formats_hold_the_same_documents(made: PrepareConfig, kind: str) -> None:
    """One tokenization, many outputs: a format with another order or another document in it would be another corpus."""
    output, manifest = Path(made.destination), read_manifest(made.destination)
    for split in ("train", "val"):
        wanted = texts_of(manifest, output, "nanogpt", split)
        found = texts_of(manifest, output, kind, split)
        if made.format(kind).holds == "text":  # the ids of the byte tokenizer are the bytes in another order
            assert list(map(len, found)) == list(map(len, wanted))
            assert {bytes(ids).decode() for ids in found} <= set(small_corpus(40))
        elif kind == "mds":
            joined = [[token for ids in side for token in ids] for side in (found, wanted)]
            assert len(joined[1]) - 10 <= len(joined[0]) <= len(joined[1])
        else:
            assert found == wanted


@every
def test_every_format_has_several_files_a_split(made: PrepareConfig, kind: str) -> None:
    """Otherwise nothing above says anything about what happens between two files."""
    files = [file for file in read_manifest(made.destination).files if file.format == kind]
    assert {file.generation for file in files} == {1, 2}
    assert {file.split for file in files} == {"train", "val"}
    assert made.format(kind).cut_by == "" or len(files) > 4


def test_the_whole_is_as_recorded_and_as_the_input_gives(made: PrepareConfig) -> None:
    """Companions and settings are listed files too: an unlisted one is a stranger in a trainer's folder."""
    assert verify(made.destination).problems == []
    assert against.compare(made.destination, made) == []


@every
def test_documents_come_back_from_every_format_with_ends(made: PrepareConfig, tmp_path: Path, kind: str) -> None:
    """Cut documents too: half of one would be no duplicate of the whole."""
    format = made.format(kind)
    alone = request(
        tmp_path, formats=[format.settings()], split={"kind": "fraction", "fraction": 0.2}, ordering={"kind": "hashed"}
    )
    texts = small_corpus(25)
    write_documents(tmp_path / "in" / "a.jsonl", texts)
    pipeline.prepare(alone)
    if format.eot == "none":
        with pytest.raises(ConfigError, match="cannot be told apart"):
            document_files(alone.destination)
    else:
        files = document_files(alone.destination)
        reports = [decode_published(alone.destination, path, number, alone) for number, path in enumerate(files)]
        left = len(texts) - sum(report.docs_out for report in reports)
        assert left == 0 if kind != "mds" else 0 <= left <= 2
    found = windows(alone.destination, read_manifest(alone.destination))
    whole = "\n".join(texts)
    assert any(piece.split("<|endoftext|>")[0] in whole for piece in found)


def test_a_format_of_rows_can_write_them() -> None:
    """One that says so and cannot would be published as the stream that the rows are made from."""
    assert ROWS
    assert all(issubclass(plugins.find("formats", kind), RowFormat) for kind in ROWS)


class Even:
    """A stream too long to be held: documents of 1,000 ids."""

    length, documents = 1 << 33, (1 << 33) // 1000 + 1

    def start_before(self, position: int) -> int:
        return self.length if position >= self.length else position // 1000 * 1000

    def start_after(self, position: int) -> int:
        return min(-(-position // 1000) * 1000, self.length)


@pytest.mark.parametrize("kind", plugins.kinds("formats"))
def test_what_cuts_its_files_is_named(kind: str) -> None:
    """A rehearsal judges files by it: without, a format that cuts was foretold one file of a terabyte."""
    format = loaded({"kind": kind})
    files = [file for file in format.files({"train": Even(), "val": Even()}, 1) if file.split == "train"]
    assert (len(files) > 1) == bool(format.cut_by)
    if format.cut_by:
        largest = max(file.stop - file.start for file in files)
        assert format.most_ids() / 2 < largest < format.most_ids() * 2
