"""What a run says of its input before it reads it: files passed over, links, and folders that lie in one another."""

from pathlib import Path

import pytest
from corpora import write_documents

from gristmill import pipeline
from gristmill.commands.prepare import check
from gristmill.config import PrepareConfig, parse
from gristmill.errors import ConfigError, InputError
from gristmill.manifest import read_manifest
from gristmill.stages.ingest.plan import plan


def request(folder: Path, path: str = "in", links: str = "refuse", **settings: object) -> PrepareConfig:
    """Documents of ``folder/in``, bytes as ids."""
    source = {"kind": "files", "name": "web", "paths": [str(folder / path)], "links": links}
    document = {
        "dataset": "test",
        "sources": [source],
        "cleaning": [],
        "dedup": [],
        "tokenizer": {"kind": "bytes"},
        "split": {"kind": "none"},
        "ordering": {"kind": "input"},
        "output": str(folder / "out"),
        "execution": {"work": str(folder / "work"), "workers": 1},
    }
    return parse(document | settings)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """One file to read beside two that are not."""
    write_documents(tmp_path / "in" / "a.jsonl", ["one", "two"])
    (tmp_path / "in" / "b.csv").write_text("text\nlost\n")
    (tmp_path / "in" / "_SUCCESS").touch()
    return tmp_path


def test_files_passed_over_are_in_manifest_and_reports(corpus: Path) -> None:
    """Half a corpus in another format was left out, and nothing that the run left behind said so."""
    manifest = pipeline.prepare(request(corpus))
    assert [(row.source, row.reason, row.suffix, row.files, row.examples) for row in manifest.passed_over] == [
        ("web", "success marker", "", 1, ["_SUCCESS"]),
        ("web", "unknown suffix", ".csv", 1, ["b.csv"]),
    ]
    for page in ("report/index.html", "report/summary.md"):
        text = (corpus / "out" / page).read_text()
        assert "Files passed over" in text
        assert "b.csv" in text
    write_documents(corpus / "in" / "c.jsonl", ["three"])
    (corpus / "in" / "b.csv").unlink()
    later = pipeline.prepare(request(corpus))
    assert [row.reason for row in later.passed_over] == ["success marker"], "each generation says what it saw"
    assert read_manifest(corpus / "out") == later


def test_files_passed_over_stop_a_run_that_asks_for_it(corpus: Path) -> None:
    with pytest.raises(InputError, match=r"web: 2 files passed over: .*\.csv 1.*b\.csv; .* on_skipped: report"):
        pipeline.prepare(request(corpus, on_skipped="fail"))
    assert not (corpus / "out").exists()
    pipeline.prepare(request(corpus, "in/*.jsonl", on_skipped="fail"))
    assert plan(request(corpus, "in/*.jsonl")).shards == [], "whether a run is strict redoes nothing"


def test_the_command_names_files_passed_over(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus)
    (corpus / "a.yaml").write_text(
        "sources: [{kind: files, name: web, paths: [in]}]\ntokenizer: {kind: bytes}\nsplit: {kind: none}\n"
    )
    line = "web: 2 files passed over: success marker (no suffix 1), unknown suffix (.csv 1): _SUCCESS, b.csv"
    for options, status in ((["--dry-run"], 0), (["--strict"], 2), (["--strict", "--dry-run"], 2)):
        with pytest.raises(SystemExit) as exit:
            check(["a.yaml", *options])
        assert exit.value.code == status
        assert line in "".join(capsys.readouterr())
    check(["a.yaml"])
    assert line in capsys.readouterr().err, "before hours of work, not only after"


def test_a_link_that_leads_nowhere_follows_on_bad_file(corpus: Path) -> None:
    """It stopped the run, although the configuration said to leave out what cannot be read."""
    (corpus / "in" / "broken.jsonl").symlink_to("gone")
    with pytest.raises(InputError, match=r"broken\.jsonl: a link that leads nowhere; .*on_bad_file: quarantine"):
        plan(request(corpus))
    manifest = pipeline.prepare(request(corpus, on_bad_file="quarantine"))
    assert {row.uri: row.error for row in manifest.source_shards} == {
        f"{corpus}/in/a.jsonl": "",
        f"{corpus}/in/broken.jsonl": f"{corpus}/in/broken.jsonl: a link that leads nowhere; repair or remove it",
    }
    write_documents(corpus / "in" / "gone", ["found again"])
    config = request(corpus, on_bad_file="quarantine")
    assert pipeline.prepare(config).totals["documents"] == 3, "once repaired, it is new input"


def test_links_that_are_followed_are_listed(corpus: Path) -> None:
    """Text from outside of the folder must not be in a data set without a trace of where it came from."""
    write_documents(corpus / "elsewhere" / "x.jsonl", ["three"])
    (corpus / "in" / "link").symlink_to("../elsewhere")
    with pytest.raises(InputError, match=r"in/link/: a link that leads out of its input folder"):
        plan(request(corpus))
    manifest = pipeline.prepare(request(corpus, links="follow"))
    assert manifest.totals["documents"] == 3
    assert [row.link for row in manifest.source_shards] == ["", f"{corpus}/elsewhere/x.jsonl"]
    assert f"{corpus}/elsewhere/x.jsonl" in (corpus / "out/report/index.html").read_text()
    (corpus / "in" / "link").unlink()
    (corpus / "in" / "link").mkdir()
    (corpus / "elsewhere" / "x.jsonl").rename(corpus / "in" / "link" / "x.jsonl")
    assert plan(request(corpus)).shards == [], "the same bytes under the same name are no new input"


@pytest.mark.parametrize("key", ["output", "execution.work"])
@pytest.mark.parametrize("path", ["in", "in/**/*.jsonl", "in/*/*.jsonl"])
def test_what_a_run_writes_must_not_lie_in_its_input(corpus: Path, key: str, path: str) -> None:
    """The first run ended well, and every later one was refused for what the first had written."""
    write_documents(corpus / "in" / "sub" / "x.jsonl", ["three"])
    inside = str(corpus / "in" / "made")
    changed = {"output": inside} if key == "output" else {"execution": {"work": inside}}
    with pytest.raises(ConfigError, match=r"in/made, where this run writes, lies in the input of source web"):
        pipeline.prepare(request(corpus, path, **changed))
    assert not Path(inside).exists()


def test_input_must_not_lie_in_what_a_run_writes(corpus: Path) -> None:
    with pytest.raises(ConfigError, match=r"a\.jsonl lies in .*, where this run writes"):
        plan(request(corpus, "in/*.jsonl", output=str(corpus)))


def test_a_glob_that_cannot_reach_the_output_may_lie_above_it(corpus: Path) -> None:
    """``paths: ["*.jsonl"]`` with ``out`` in the same folder is what people write first."""
    config = request(corpus, "in/*.jsonl", output=str(corpus / "in/out"), execution={"work": str(corpus / "in/work")})
    pipeline.prepare(config)
    assert plan(config).shards == []
