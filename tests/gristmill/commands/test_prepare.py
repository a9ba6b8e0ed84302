"""What stops a run before Prefect starts: one line that names the thing and the remedy, status 2, nothing written."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from corpora import byte_tokenizer, cut_short, request, tree, write_documents
from handlers import kept

from gristmill import pipeline
from gristmill.commands.prepare import check

TERABYTES = 4 << 40


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A configuration that works, to be spoilt; relative paths are below ``tmp_path``."""
    monkeypatch.chdir(tmp_path)
    write_documents(tmp_path / "in" / "a.jsonl", ["one", "two"])
    byte_tokenizer(tmp_path / "tokenizer.json")
    return {
        "dataset": "test",
        "sources": [{"kind": "files", "name": "web", "paths": ["in"]}],
        "tokenizer": {"kind": "huggingface", "path": "tokenizer.json"},
        "output": "out",
        "execution": {"work": "work"},
    }


def refused(config: dict[str, Any] | str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The one line on stderr of a command that ends with status 2."""
    Path("config.yaml").write_text(config if isinstance(config, str) else yaml.safe_dump(config))
    with pytest.raises(SystemExit) as stopped:
        check(["config.yaml", *options])
    lines = capsys.readouterr().err.splitlines()
    assert stopped.value.code == 2
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


def expect(message: str, *parts: str) -> None:
    assert all(part in message for part in parts), message
    assert not Path("out").exists()


def test_a_good_configuration_is_accepted(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every refusal below must come from what was spoilt, not from the rest."""
    monkeypatch.setenv("DO_NOT_TRACK", "unchanged")
    Path("config.yaml").write_text(yaml.safe_dump(asked))
    check(["config.yaml"])
    assert "error" not in capsys.readouterr().err


def test_a_dry_run_prints_the_plan_and_writes_nothing(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Someone who only wants to see sizes must not find folders made or work done."""
    Path("config.yaml").write_text(yaml.safe_dump(asked))
    before = tree(Path())
    with pytest.raises(SystemExit) as stopped:
        check(["config.yaml", "--dry-run"])
    shown = capsys.readouterr().out
    assert stopped.value.code == 0
    assert all(
        part in shown for part in ("in/a.jsonl", "work area", "output", " GB free", "fetch 0, clean 0, sign 0 of 1")
    )
    assert tree(Path()) == before
    assert sorted(path.name for path in Path().iterdir()) == ["config.yaml", "in", "tokenizer.json"]


def test_a_dry_run_says_what_is_done_already(
    asked: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before a rerun, people want to know whether it starts from the beginning."""
    published(tmp_path)
    rules: dict[str, Any] = {"cleaning": [], "dedup": [], "ordering": {"kind": "input"}, "split": {"kind": "none"}}
    Path("config.yaml").write_text(yaml.safe_dump(asked | rules))
    with pytest.raises(SystemExit) as stopped:
        check(["config.yaml", "--dry-run"])
    shown = capsys.readouterr().out
    assert stopped.value.code == 0
    assert "published already: a run would change nothing" in shown
    write_documents(Path("in/b.jsonl"), ["three"])
    with pytest.raises(SystemExit):
        check(["config.yaml", "--dry-run"])
    assert "published already; a run would add generation 2" in capsys.readouterr().out


def test_a_dry_run_with_other_rules_says_what_a_rebuild_would_reuse(
    asked: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever changed one rule was told of sources, and not whether a rebuild takes minutes or days."""
    published(tmp_path)
    rules: dict[str, Any] = {"cleaning": [], "dedup": [], "ordering": {"kind": "input"}, "split": {"kind": "none"}}
    Path("config.yaml").write_text(yaml.safe_dump(asked | rules | {"cleaning": [{"kind": "length", "min_chars": 2}]}))
    before = tree(Path())
    with pytest.raises(SystemExit) as stopped:
        check(["config.yaml", "--dry-run"])
    shown = capsys.readouterr()
    assert stopped.value.code == 2
    assert "fetch 1, clean 0, sign 0 of 1 shards" in shown.out
    assert "--rebuild makes " in shown.out
    assert "made by other rules: cleaning: [] -> [length]; " in shown.err
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("spoilt", "parts"),
    [
        ({"clening": []}, ["'clening'", "there are: ", "cleaning"]),
        ({"sources": [{"kind": "filez"}]}, ["'filez'", "there are: ", "files", "stdlib_docs"]),
        ({"sources": [{"kind": "files", "path": ["in"]}]}, ["'path'", "there are: ", "paths"]),
        ({"sources": []}, ["sources"]),
        ({"cleaning": [{"kind": "lenght"}]}, ["'lenght'", "there are: ", "length"]),
        ({"tokenizer": {"path": "tokenizer.json"}}, ["tokenizer", "kind", "huggingface"]),
        ({"dataset": "../x"}, ["dataset", "../x"]),
        ({"split": {"fraction": 2}}, ["fraction", "2"]),
        ({"split": {"kind": "characters"}}, ["characters", "ordering"]),
        ({"formats": [{"kind": "nanogpt"}, {"kind": "nanogpt"}]}, ["formats", "nanogpt", "once"]),
        ({"execution": {"workers": -1}}, ["workers", "-1"]),
        ({"output": "ftp://host/x"}, ["ftp://host/x", "s3://bucket/prefix"]),
        ({"sources": [{"kind": "files", "paths": ["nowhere"]}]}, ["nowhere"]),
        ({"sources": [{"kind": "files", "paths": ["in/*.parquet"]}]}, ["in/*.parquet"]),
        ({"sources": [{"kind": "files", "paths": ["config.yaml"]}]}, ["config.yaml", ".jsonl"]),
        ({"tokenizer": {"kind": "huggingface", "path": "nowhere.json"}}, ["nowhere.json", "tokenizer.json"]),
        ({"tokenizer": {"kind": "huggingface"}}, ["path", "name"]),
    ],
)
def test_a_configuration_that_cannot_be_carried_out(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str], spoilt: dict[str, Any], parts: list[str]
) -> None:
    """A typo found after an hour of cleaning, or answered with a page of traceback."""
    expect(refused(asked | spoilt, capsys), *parts)


@pytest.mark.usefixtures("asked")
def test_files_that_are_no_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    """A YAML mistake must be told with its line, not as a parser's stack."""
    expect(refused("a: [1\n", capsys), "config.yaml", "YAML", "line")
    expect(refused("- a\n", capsys), "config.yaml", "mapping")
    expect(refused("dataset: a\ndataset: b\n", capsys), "'dataset'", "repeated")
    with pytest.raises(SystemExit) as stopped:
        check(["absent.yaml"])
    assert stopped.value.code == 2
    assert "absent.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--set", "split.fraktion=0.1"), ["'fraktion'", "fraction"]),
        (("--set", "split.fraction"), ["KEY=VALUE"]),
        (("--set", "sources.7.name=x"), ["sources.7.name"]),
        (("--set", "dataset=[1"), ["dataset", "YAML"]),
        (("--workers", "-3"), ["workers", "-3"]),
    ],
)
def test_options_that_cannot_be_carried_out(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str], options: tuple[str, ...], parts: list[str]
) -> None:
    """A setting that is silently ignored makes a data set nobody asked for."""
    expect(refused(asked, capsys, *options), *parts)


def test_an_empty_folder_is_no_input(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """A download that did not happen must not become an empty data set."""
    Path("empty").mkdir()
    asked["sources"][0]["paths"] = ["empty"]
    expect(refused(asked, capsys), "empty")


def test_a_pipe_is_no_input(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Opening a named pipe would wait for ever."""
    os.mkfifo("in/pipe.jsonl")
    asked["sources"][0]["paths"] = ["in/pipe.jsonl"]
    expect(refused(asked, capsys), "in/pipe.jsonl", "regular file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Named before the start, not after everything else was read."""
    Path("in").chmod(0)
    expect(refused(asked, capsys), "in", "ermission")


def test_a_plan_that_does_not_fit_on_the_disk(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """A disk that fills up after a night of work takes every other job on it down as well."""
    with Path("in/huge.jsonl.gz").open("wb") as file:
        file.truncate(TERABYTES)
    expect(refused(asked, capsys), "work area", "GB needed", "GB free", "--work")


def test_a_work_area_or_output_that_is_a_file(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """A place that nothing can be written to is known before the work, not after it."""
    Path("taken").write_text("mine")
    for key in ({"output": "taken"}, {"output": "taken/below"}, {"execution": {"work": "taken"}}):
        expect(refused(asked | key, capsys), "taken", "folder")


def published(folder: Path, **settings: Any) -> None:
    """Fill ``out`` as an earlier run did."""
    source = {"kind": "files", "name": "web", "paths": ["in"]}
    own = {"sources": [source], "output": "out", "execution": {"work": "work"}}
    tokenizer = {"kind": "huggingface", "path": "tokenizer.json"}
    pipeline.prepare(request(folder, tokenizer=tokenizer, **own, **settings))


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"dataset": "older"}, ["'older'", "'test'"]),
        ({"ordering": {"kind": "nanogpt"}}, ["other", "ordering"]),
        ({}, ["dedup", "ordering", "split"]),
    ],
)
def test_an_output_that_holds_another_data_set(
    asked: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, Any],
    parts: list[str],
) -> None:
    """Two data sets in one folder: a trainer reads half of each."""
    published(tmp_path, **settings)
    before = tree(Path("out"))
    message = refused(asked, capsys)
    assert all(part in message for part in [*parts, "out", "--output"]), message
    assert tree(Path("out")) == before


def test_an_output_with_files_of_unknown_origin(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """A train.bin without a manifest is somebody's only copy."""
    Path("out/nanogpt").mkdir(parents=True)
    Path("out/nanogpt/train.bin").write_bytes(b"mine")
    message = refused(asked, capsys)
    assert all(part in message for part in ("out/nanogpt/train.bin", "--output")), message


def test_an_output_with_a_manifest_that_was_changed(
    asked: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing can be said of such a folder, so nothing is added to it."""
    published(tmp_path)
    manifest = Path("out/manifests/g00001.json")
    manifest.write_text(manifest.read_text().replace("older", "newer").replace('"test"', '"toast"'))
    Path("config.yaml").write_text(yaml.safe_dump(asked))
    with pytest.raises(SystemExit) as stopped:
        check(["config.yaml"])
    lines = capsys.readouterr().err.splitlines()
    assert stopped.value.code == 1
    assert len(lines) == 1
    assert "out/manifests/g00001.json" in lines[0]


def test_the_status_tells_when_files_were_left_out(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A nightly job that looks at the status alone must not take a corpus without a tenth of its files for whole."""
    monkeypatch.setenv("DO_NOT_TRACK", "unchanged")
    for name in ("b", "c"):
        write_documents(Path("in") / f"{name}.jsonl.gz", [f"{name} {number}" for number in range(100)])
    Path("config.yaml").write_text(yaml.safe_dump(asked | {"on_bad_file": "quarantine"}))
    with kept():
        assert check(["config.yaml"]).run(pipeline.prepare) == 0
        cut_short(Path("in") / "b.jsonl.gz")
        assert check(["config.yaml", "--output", "other"]).run(pipeline.prepare) == 3
