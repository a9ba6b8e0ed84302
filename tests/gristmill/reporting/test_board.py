"""How far a run is: what is counted, and what is said where there is no terminal."""

import io
import threading

import pytest
from rich.console import Console

from gristmill.reporting import board
from gristmill.reporting.board import Board


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever terminal the tests run in, there is none unless a test says so."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def test_the_last_line_of_a_stage_has_all_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """A log without it would not say what was reused or failed."""
    with Board() as shown:
        shown.begin("clean", 3)
        shown.advance("clean", 1500, 2_000_000)
        shown.retry("clean")
        shown.retry("clean")
        shown.finish("clean", tokens=1000, quarantined=4)
        shown.finish("clean", reused=1, tokens=234)
        shown.advance("clean", 500, 0)
        shown.finish("clean", failed=1)
    line, *table = capsys.readouterr().err.splitlines()
    assert line.startswith("clean: 3/3, 1 reused, 1 failed, 2 retries, 4 quarantined, 2,000 documents, ")
    assert "MB/s, 1,234 tokens, " in line
    assert [row.split()[0] for row in table] == ["stage", "clean"]
    assert {"reused", "failed", "retries", "quarantined", "tokens"} <= set(table[0].split())


def test_a_log_file_gets_a_line_only_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four lines a second for hours would bury everything else."""
    with Board() as shown:
        shown.begin("fetch", 1000)
        for _ in range(200):
            shown.advance("fetch", 1, 1)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(board, "LINE_SECONDS", 0.0)
        shown.advance("fetch", 1, 1)
        assert capsys.readouterr().err.startswith("fetch: 0/1000, 201 documents")


def test_the_share_is_the_mean_over_stages() -> None:
    shown = Board()
    assert shown.share() == 0
    shown.begin("fetch", 4)
    shown.begin("clean", 2)
    shown.begin("nothing", 0)
    for _ in range(2):
        shown.finish("fetch")
    assert shown.share() == pytest.approx(0.5 / 3)


def test_threads_lose_no_count() -> None:
    """One thread a worker reports: a lost update would show fewer documents than were read."""
    shown = Board()
    shown.begin("clean", 400)

    def work() -> None:
        for _ in range(100):
            shown.advance("clean", 1, 2)
            shown.finish("clean")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shown.share() == 1
    assert shown._stages["clean"].documents == 400
    assert shown._stages["clean"].nbytes == 800


def test_a_terminal_shows_a_table_and_no_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with Board() as shown:
        shown.begin("tokenize", 2)
        shown.advance("tokenize", 1234, 10_000_000)
        shown.finish("tokenize", tokens=5000)
        page = io.StringIO()
        Console(file=page, width=120, force_terminal=False).print(shown._table())
    assert "tokenize: " not in capsys.readouterr().err
    head, row = page.getvalue().splitlines()
    assert head.split() == ["stage", "done", "documents", "documents/s", "MB/s", "tokens", "time", "left"]
    assert row.split()[:3] == ["tokenize", "1/2", "1,234"]
    assert " 5,000 " in row


def test_a_long_step_shows_how_far_it_is_and_what_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training a tokenizer is one unit of work of an hour: it stood at 0/1 until its end."""
    now = 100.0
    monkeypatch.setattr(board.time, "monotonic", lambda: now)
    shown = Board()
    shown.begin("vocabulary", 1)
    assert shown.step("vocabulary", "tokenize words", 500, 500) == ""
    assert shown.step("vocabulary", "compute merges", 500, 2000) == ""  # the library's bar begins where the last ended
    assert shown.step("vocabulary", "compute merges", 0, 2000) == ""
    now = 120.0
    line = "vocabulary: 0/1 compute merges 500/2,000, 20.0 s, about 60 s left"
    assert shown.step("vocabulary", "compute merges", 500, 2000) == line
    assert capsys.readouterr().err == f"{line}\n"
    assert shown.rows()[0]["left"] == "60 s"
    assert shown.step("vocabulary", "compute merges", 600, 2000) == ""
    shown.finish("vocabulary")
    assert shown.rows()[0]["done"] == "1/1"
    assert shown.rows()[0]["left"] == ""
