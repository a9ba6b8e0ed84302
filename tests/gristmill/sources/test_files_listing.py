"""Which files on disk ``files`` reads, and in which order."""

import glob
import os
import random
import socket
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reading import read

from gristmill.errors import InputError
from gristmill.sources._found import Glob
from gristmill.sources.files import Files


def put(*paths: Path) -> None:
    """A file of one document at each path; its text is its name."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"text": "{path.name.replace(chr(10), " ").replace(chr(34), "_")}"}}\n')


def found(*paths: object, **settings: object) -> list[str]:
    return [shard.uri for shard in Files(paths=[str(path) for path in paths], **settings).shards()]


def test_order_is_by_the_bytes_of_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Output bytes depend on it: not on the order of paths, of the file system, or of any locale."""
    names = [
        "b.jsonl",
        "a/z.jsonl",
        "a-b/x.jsonl",
        "a.jsonl",
        "B.jsonl",
        "\u00e9.jsonl",
        "\U0001f600.jsonl",
        "a/b/c.jsonl",
    ]
    for name in random.Random(1).sample(names, len(names)):
        put(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    wanted = sorted(names, key=str.encode)
    assert found(*names) == found(*reversed(names)) == wanted
    assert found("**") == found("**/*.jsonl", "a") == wanted
    assert found(".") == [f"./{name}" for name in wanted]
    assert found(tmp_path) == [f"{tmp_path}/{name}" for name in wanted]
    assert [shard.index for shard in Files(paths=names).shards()] == list(range(len(names)))


@pytest.mark.parametrize(
    "name",
    [
        "with space.jsonl",
        "quote'.jsonl",
        'quote".jsonl',
        "a#b%20.jsonl",
        "a::b.jsonl",
        "[1].jsonl",
        "*.jsonl",
        "q?.jsonl",
        "line\nfeed.jsonl",
        "\U0001f600\u4e2d.jsonl",
        "-rf.jsonl",
        "s3:x.jsonl",
        "~.jsonl",
        "$HOME.jsonl",
        "x" * 249 + ".jsonl",
    ],
)
def test_a_name_is_taken_as_it_is(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    """Wildcards, URL marks and line feeds in the name of a file that exists mean nothing."""
    put(tmp_path / name, tmp_path / "other1.jsonl")
    monkeypatch.chdir(tmp_path)
    assert found(name) == [name]
    assert len(read(Files(paths=[name])).texts) == 1
    assert found(tmp_path / name) == [f"{tmp_path}/{name}"]
    assert f"{tmp_path}/{name}" in found(tmp_path)


def test_a_path_that_looks_like_a_uri_but_exists_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    put(tmp_path / "s3:" / "bucket" / "x.jsonl")
    monkeypatch.chdir(tmp_path)
    assert found("s3://bucket/x.jsonl") == ["s3://bucket/x.jsonl"]
    assert read(Files(paths=["s3://bucket/x.jsonl"])).texts == ["x.jsonl"]
    assert found(f"file://{tmp_path}/s3:/bucket") == [f"{tmp_path}/s3:/bucket/x.jsonl"]


PASSED_OVER = """.a.jsonl _a.jsonl a.jsonl.tmp a.jsonl.part a.jsonl.crc a.jsonl.incomplete a.csv a _SUCCESS
    _temporary/0/a.jsonl .cache/a.jsonl"""


@pytest.mark.parametrize("name", PASSED_OVER.split())
def test_unfinished_and_foreign_files_in_folders_are_passed_over(tmp_path: Path, name: str):
    """A half-written file of another program must not become training data."""
    put(tmp_path / name, tmp_path / "in" / "a.jsonl")
    assert found(tmp_path) == found(f"{tmp_path}/**") == [f"{tmp_path}/in/a.jsonl"]
    (tmp_path / "in" / "a.jsonl").unlink()
    with pytest.raises(InputError, match=r"no file to read: .*accepted: \.jsonl "):
        found(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.csv", r"a\.csv: its name does not say what it holds; accepted: \.jsonl .*\.html"),
        ("a", r"accepted: \.jsonl "),
        ("a.jsonl.tmp", r"accepted: \.jsonl "),
        ("absent.jsonl", r"absent\.jsonl: no such file or folder; accepted: a file, a folder or a glob of \.jsonl "),
        ("absent/*.jsonl", r"absent/\*\.jsonl: no file to read: empty"),
        ("sub", r"sub: no file to read: passed over 4 \('a\.csv', 'b\.csv', 'c\.csv', \.\.\.\)"),
        ("sub/*.csv", r"sub/\*\.csv: no file to read: passed over 4"),
        ("*.jsonl", r"/\*\* reads subfolders"),
        ("nul\x01/" + "x" * 5000, r"no such file"),
        ("a.csv/b.jsonl", r"no such file"),
    ],
)
def test_a_path_that_leads_to_nothing_is_named(tmp_path: Path, name: str, message: str):
    """A typo must not give an empty corpus."""
    put(tmp_path / "a.csv", tmp_path / "a", tmp_path / "a.jsonl.tmp", *(tmp_path / "sub" / f"{n}.csv" for n in "abcd"))
    with pytest.raises(InputError, match=message):
        found(tmp_path / name)


def test_named_hidden_files_are_read(tmp_path: Path):
    put(tmp_path / "_a.jsonl", tmp_path / "_dir" / "b.jsonl")
    assert found(tmp_path / "_a.jsonl") == [f"{tmp_path}/_a.jsonl"]
    assert found(tmp_path / "_dir") == found(tmp_path / "_dir" / "*") == [f"{tmp_path}/_dir/b.jsonl"]


def test_one_file_under_many_names_is_read_once(tmp_path: Path):
    """Overlapping globs and links would train twice on the same text."""
    put(tmp_path / "b.jsonl", tmp_path / "c.jsonl")
    (tmp_path / "a.jsonl").symlink_to("c.jsonl")
    os.link(tmp_path / "b.jsonl", tmp_path / "d.jsonl")
    assert found(tmp_path, tmp_path / "*.jsonl", tmp_path / "d.jsonl") == [f"{tmp_path}/a.jsonl", f"{tmp_path}/b.jsonl"]


def test_links_in_circles_end(tmp_path: Path):
    put(tmp_path / "a" / "x.jsonl", tmp_path / "b" / "y.jsonl")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "a" / "other").symlink_to("../b")
    (tmp_path / "b" / "back").symlink_to("../a")
    (tmp_path / "self").symlink_to("self")
    assert found(tmp_path) == [f"{tmp_path}/a/other/y.jsonl", f"{tmp_path}/a/x.jsonl"]
    with pytest.raises(InputError, match="self: cannot be read"):
        found(tmp_path / "self")


def test_a_link_to_nothing_is_an_error(tmp_path: Path):
    """Data that is listed but gone is a loss, not a file to pass over."""
    put(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").symlink_to("gone")
    with pytest.raises(InputError, match=r"b\.jsonl: a link that leads nowhere"):
        found(tmp_path)


def test_only_regular_files_are_opened(tmp_path: Path):
    """A named pipe would block the worker for ever."""
    put(tmp_path / "a.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "s.jsonl"))
    (tmp_path / "null.jsonl").symlink_to("/dev/null")
    assert found(tmp_path) == [f"{tmp_path}/a.jsonl"]
    for name in ("pipe.jsonl", "s.jsonl", "null.jsonl"):
        with pytest.raises(InputError, match="not a regular file"):
            found(tmp_path / name)
    shard = Files(paths=[str(tmp_path)]).shards()[0]
    (tmp_path / "a.jsonl").unlink()
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match="not a regular file"):
        list(Files(paths=[str(tmp_path)]).read(shard))
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(InputError, match=r"a\.jsonl: cannot be read: No such file"):
        list(Files(paths=[str(tmp_path)]).read(shard))


def test_a_name_that_is_not_utf8_is_told(tmp_path: Path):
    """It could not stand in a manifest; passing it over would lose it."""
    (tmp_path / os.fsdecode(b"lait\xe9.jsonl")).write_text("{}")
    with pytest.raises(InputError, match=r"b'lait\\xe9\.jsonl' is not UTF-8; rename it"):
        found(tmp_path)


def test_identity_follows_the_content(tmp_path: Path):
    """Resuming trusts it: an edited file must be read again, an untouched one must not."""
    put(tmp_path / "a.jsonl")
    first, again = (Files(paths=[str(tmp_path)]).shards()[0] for _ in range(2))
    assert first == again
    os.utime(tmp_path / "a.jsonl", ns=(0, 5))
    (edited,) = Files(paths=[str(tmp_path)]).shards()
    assert edited.identity == f"{edited.size}:5" != first.identity


NAMES = st.sampled_from(["a", "b", "a.jsonl", "b.jsonl", "ab.txt"])
PARTS = st.sampled_from(["*", "**", "a", "a*", "*.jsonl", "?", "[ab].jsonl", "[!a]*", "b"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=8), st.lists(PARTS, min_size=1, max_size=4))
def test_globs_mean_what_the_shell_means(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[str]], parts: list[str]
):
    """Against the standard library's glob: files only."""
    root = tmp_path_factory.mktemp("globs")
    for names in files:
        path = root.joinpath(*names)
        if not any(parent.is_file() for parent in path.parents) and not path.exists():
            put(path)
    pattern = "/".join(parts)
    named = glob.glob(pattern, root_dir=root, recursive=True)  # noqa: PTH207
    # With a slash at the end it names a folder, even where the library found a file.
    matches = {os.path.normpath(name) for name in named if not name.endswith("/")}
    wanted = {name for name in matches if (root / name).is_file()}
    everything = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    parsed = Glob.parse(pattern)
    base = f"{parsed.base}/" if parsed.base else ""
    assume(parsed.parts)
    assert {name for name in everything if name.startswith(base) and parsed.matches(name[len(base) :])} == wanted
    if usable := sorted((name for name in wanted if Path(name).suffix), key=str.encode):
        assert found(root / pattern) == [f"{root}/{name}" for name in usable]
