"""Input that cannot be used: refused or left out by name, before anything is at the output."""

from collections.abc import Callable
from pathlib import Path

import pytest
from corpora import cut_short, published, request, write_documents
from data import HARD, wide_vocabulary

from gristmill import pipeline
from gristmill.commands import failing_clearly
from gristmill.config import PrepareConfig
from gristmill.errors import GristmillError
from gristmill.manifest import read_manifest

GOOD = [f"document {number}" for number in range(200)]


def refused(config: PrepareConfig, capsys: pytest.CaptureFixture[str], *parts: str) -> str:
    """The one line of a run that must stop with status 2 and leave the output untouched."""

    def run() -> int:
        pipeline.prepare(config)
        return 0

    status = failing_clearly(run, debug=False)
    lines = capsys.readouterr().err.splitlines()
    assert status == 2
    assert len(lines) == 1, lines
    assert all(part in lines[0] for part in parts), lines[0]
    assert not Path(config.destination).exists()
    return lines[0]


def three_files(folder: Path) -> Path:
    """Three files; the middle one is returned to be spoilt."""
    for name in ("a", "b", "c"):
        write_documents(folder / "in" / f"{name}.jsonl.gz", [f"{name} {text}" for text in GOOD])
    return folder / "in" / "b.jsonl.gz"


def flip_in_the_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def not_gzip_at_all(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 8)


@pytest.mark.parametrize("damage", [cut_short, flip_in_the_middle, not_gzip_at_all])
def test_a_damaged_file_stops_the_run_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], object]
) -> None:
    """A short shard published as a whole one is the loss that nobody sees."""
    bad = three_files(tmp_path)
    damage(bad)
    refused(request(tmp_path), capsys, str(bad))


@pytest.mark.parametrize("damage", [cut_short, flip_in_the_middle, not_gzip_at_all])
def test_a_damaged_file_can_be_left_out_and_the_manifest_says_so(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """Left out means wholly: none of the documents before the damage may slip in."""
    bad = three_files(tmp_path)
    damage(bad)
    config = request(tmp_path, on_bad_file="quarantine")
    manifest = pipeline.prepare(config)
    assert published(config) == [f"{name} {text}" for name in ("a", "c") for text in GOOD]
    errors = {shard.uri: shard.error for shard in manifest.source_shards}
    assert [uri for uri, error in errors.items() if error] == [str(bad)]
    assert str(bad) in errors[str(bad)]
    assert manifest.totals["input_documents"] == 400
    assert read_manifest(Path(config.destination)) == manifest


def test_every_file_damaged_is_an_error_even_when_files_may_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty data set must not be the answer to a failed download."""
    path = write_documents(tmp_path / "in" / "a.jsonl.gz", GOOD)
    cut_short(path)
    refused(request(tmp_path, on_bad_file="quarantine"), capsys, str(path), "none of the 1 input")


@pytest.mark.parametrize("texts", [[" ", "\n"], ["short"]])
def test_nothing_left_to_publish_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], texts: list[str]
) -> None:
    """Blank documents, or rules that drop them all: say so and why, instead of an empty file."""
    write_documents(tmp_path / "in" / "a.jsonl", texts)
    message = refused(request(tmp_path, cleaning=[{"kind": "length", "min_chars": 6}]), capsys, "no document")
    assert "too_short" in message


def test_the_reasons_for_which_nothing_is_left_are_all_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """'The input holds none' was said of documents that had all been set aside, and copies had no part in it."""
    path = write_documents(tmp_path / "in" / "a.jsonl", ["to be replaced"])
    bad = '{"text": null}\n{"text": 5}\n{"text": null}\n'
    path.write_text(bad)
    message = refused(request(tmp_path, max_quarantined_share=1), capsys, "no document is left to publish")
    assert "null_text 2, non_string_text 1" in message
    path.write_text(bad + '{"text": " "}\n{"text": "short"}\n')
    rules = [{"kind": "length", "min_chars": 6}]
    refused(request(tmp_path, max_quarantined_share=1, cleaning=rules), capsys, "null_text 2, too_short 2")
    paragraphs = {"kind": "paragraph", "min_bytes": 1, "min_left": 1000}
    path.write_text('{"text": "the same part\\n\\nthe same part"}\n' * 2)
    refused(request(tmp_path, dedup=[{"kind": "exact"}, paragraphs]), capsys, "duplicate_exact 1, little_left 1")


def test_input_of_empty_files_alone_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_documents(tmp_path / "in" / "a.jsonl", [])
    refused(request(tmp_path), capsys, "no file to read: passed over 1 ('a.jsonl': empty 1)")


def test_too_many_bad_documents_stop_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong key in one of the sources would otherwise publish a tenth less text, quietly."""
    path = write_documents(tmp_path / "in" / "a.jsonl", GOOD[:90])
    path.write_bytes(path.read_bytes() + b'{"text": null}\n' * 10)
    refused(request(tmp_path), capsys, "10 of 100", "null_text 10", "max_quarantined_share", "0.01")
    assert pipeline.prepare(request(tmp_path, max_quarantined_share=0.1)).quarantined == {"null_text": 10}


def test_a_bad_document_can_be_made_to_stop_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who sets ``fail`` wants the file and the line, at once."""
    path = write_documents(tmp_path / "in" / "a.jsonl", GOOD)
    path.write_bytes(path.read_bytes() + b"{\n")
    refused(request(tmp_path, on_bad_document="fail"), capsys, str(path), "line 201", "json_syntax")


def test_ids_beyond_the_dtype_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cast to uint16, id 65536 becomes 0 and 69999 becomes 4463, and training goes on with noise."""
    tokenizer = {"kind": "huggingface", "path": str(wide_vocabulary()), "eot": "<eod>"}
    source = {"kind": "files", "paths": [str(HARD / "tokens" / "vocab70000.jsonl")]}
    config = request(tmp_path, tokenizer=tokenizer, sources=[source])
    refused(config, capsys, "vocab70000.tokenizer.json", "69999", "uint32", "nanogpt")


def test_a_format_that_ends_documents_needs_a_token_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without one, documents would run into each other."""
    write_documents(tmp_path / "in" / "a.jsonl", GOOD)
    refused(request(tmp_path, tokenizer={"kind": "characters"}), capsys, "characters", "nanogpt", "eot: none")


@pytest.mark.parametrize("content", ["{", "{}", "[]", '{"model": {"type": "BPE"}}'])
def test_a_tokenizer_file_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    """An error page saved as tokenizer.json must be told by name, not by a library's panic."""
    write_documents(tmp_path / "in" / "a.jsonl", GOOD)
    path = tmp_path / "broken.json"
    path.write_text(content)
    refused(request(tmp_path, tokenizer={"kind": "huggingface", "path": str(path)}), capsys, str(path))


def test_a_file_that_vanished_is_named(tmp_path: Path) -> None:
    """Removed between planning and reading: the message must say which, whoever removed it."""
    path = write_documents(tmp_path / "in" / "a.jsonl", GOOD)
    config = request(tmp_path)
    shard = config.sources[0].shards()[0]
    path.unlink()
    with pytest.raises(GristmillError, match=str(path)):
        list(config.sources[0].read(shard))
