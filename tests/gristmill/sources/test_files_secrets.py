"""``files`` behind a password or a signature: read with it, named without."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpora import write_documents
from guarded import Guarded, guarded
from reading import read

from gristmill.config import parse
from gristmill.errors import ConfigError, InputError
from gristmill.sources.files import Files


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Guarded]:
    write_documents(tmp_path / "b" / "x.jsonl.gz", ["one"])
    write_documents(tmp_path / "b" / "y.jsonl", ["two"])
    write_documents(tmp_path / "v2" / "b" / "y.jsonl", ["another two"])
    pq.write_table(pa.table({"text": ["three", "four"]}), tmp_path / "b" / "z.parquet", row_group_size=1)
    with guarded(tmp_path) as found:
        yield found


def uris(source: Files) -> list[str]:
    return [shard.uri.rpartition("/")[2] for shard in source.shards()]


def test_signed_addresses_are_read_and_leave_nothing(server: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that escapes a signature anew, or reads from another address than it listed, is refused."""
    monkeypatch.setattr("gristmill.sources.files.UNDIVIDED_BYTES", 0)
    monkeypatch.setattr("gristmill.sources.files.SHARD_BYTES", 1)
    source = Files(paths=[server.signed(f"b/{name}") for name in ("x.jsonl.gz", "y.jsonl", "z.parquet")])
    assert read(source).texts == ["one", "two", "three", "four"]
    assert set(uris(source)) == {"x.jsonl.gz", "y.jsonl", "z.parquet"}
    assert len(source.shards()) > 10  # the plain file and the parquet file are read in parts
    assert read(source).ids[0] == "x.jsonl.gz:1"
    assert "canary" not in f"{source.shards()} {source!r} {source.settings()} {source.identity()}"


def test_a_server_that_gives_no_parts(server: Guarded, tmp_path: Path) -> None:
    """A file of more than a request brings, 5 MB, ended in a traceback."""
    server.parts = False
    texts = [f"{number} " + "a line " * 1000 for number in range(900)]
    write_documents(tmp_path / "b" / "long.jsonl", texts)
    assert read(Files(paths=[server.signed("b/long.jsonl")])).texts == texts


def test_an_address_signed_anew_is_the_same_input(server: Guarded) -> None:
    """A nightly run would read, and without dedup publish, the whole input once more."""
    first, second = (Files(paths=[server.signed("b/y.jsonl", number)]) for number in (0, 1))
    assert first.shards() == second.shards()
    assert first.identity() == second.identity()
    assert len(Files(paths=[*first.paths, *second.paths]).shards()) == 1


def test_globs_and_folders_behind_a_password(server: Guarded) -> None:
    source = Files(paths=[server.with_password("b/*.jsonl*"), server.with_password("v2/b/y.jsonl")])
    assert read(source).texts == ["one", "two", "another two"]
    assert "canary" not in str(source.shards())
    by_name = Files(paths=[server.with_password("b/x.jsonl.gz")]).shards()[0]
    assert source.shards()[0] == by_name  # an index tells neither sizes nor times: a changed file would not be seen
    assert by_name.size


def test_a_query_that_names_other_content_is_another_file(server: Guarded) -> None:
    """Two downloads of one path would be taken for one, and half of the input lost."""
    paths = [server.signed("b/y.jsonl"), server.signed("b/y.jsonl", more="&version=v2")]
    assert sorted(read(Files(paths=paths)).texts) == ["another two", "two"]


@pytest.mark.parametrize("number", [0, 1])
def test_a_refusal_says_what_to_do_and_shows_nothing(server: Guarded, number: int) -> None:
    """A signature that has expired looked like a folder without files."""
    source = Files(paths=[server.signed("b/y.jsonl", number)])
    shard = source.shards()[0]
    server.expired.add(source.paths[0].rpartition("=")[2])
    for action in (source.shards, lambda: list(source.read(shard))):
        with pytest.raises(InputError, match=r"answers 403; .*made anew") as refused:
            action()
        assert "canary" not in str(refused.value)
        assert refused.value.__cause__ is None
    with pytest.raises(InputError, match=r"answers 401; check user and password"):
        Files(paths=[server.with_password("b/y.jsonl").replace("pass", "word")]).shards()


def test_a_worker_gets_the_address_and_no_file_does(server: Guarded) -> None:
    """What a configuration is dumped for decides: a pipe to a worker, or a manifest."""
    from gristmill.processes.child import full, plain, typed

    config = parse({"sources": [{"kind": "files", "paths": [server.signed("b/y.jsonl")]}]})
    again = typed(full(config), type(config))
    assert again == config
    assert "canary" not in f"{plain(config)} {config.settings()} {config.identity()} {config!r}"
    assert config.model_copy(update={"dataset": "other"}).sources[0] == config.sources[0]


def test_a_variable_is_filled_in(server: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    address = server.with_password("b/y.jsonl")
    monkeypatch.setenv("CORPUS_LOGIN", address.partition("://")[2].partition("@")[0])
    assert read(Files(paths=[f"http://${{CORPUS_LOGIN}}@{address.partition('@')[2]}"])).texts == ["two"]
    with pytest.raises(ConfigError, match="CORPUS_NONE is not set") as refused:
        parse({"sources": [{"kind": "files", "paths": ["http://canary:${CORPUS_NONE}@host/x.jsonl"]}]})
    assert "canary" not in str(refused.value)
    literal = "http://ann:pa$$word$x@host/x.jsonl"
    assert Files(paths=[literal]).paths == [literal]
