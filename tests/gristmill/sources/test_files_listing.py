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
from gristmill.types import DANGLING


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
        ("sub", r"sub: no file to read: passed over 4 \('a\.csv', 'b\.csv', 'c\.csv', \.\.\.: unknown suffix 4\)"),
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
    with pytest.raises(InputError, match="self: a link that leads nowhere"):
        found(tmp_path / "self")


@pytest.mark.parametrize("target", ["gone", "b.jsonl"])
def test_a_link_to_nothing_is_an_input_that_cannot_be_read(tmp_path: Path, target: str):
    """Data that is listed but gone is a loss, not a file to pass over: ``on_bad_file`` says what it does."""
    put(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").symlink_to(target)
    (tmp_path / "README").symlink_to("gone")
    source = Files(paths=[str(tmp_path), str(tmp_path / "b.jsonl")])
    good, bad = source.shards()
    assert [good.uri, bad.uri, bad.identity] == [f"{tmp_path}/a.jsonl", f"{tmp_path}/b.jsonl", DANGLING]
    with pytest.raises(InputError, match=r"b\.jsonl: a link that leads nowhere; repair or remove it"):
        list(source.read(bad))
    assert passed(tmp_path) == {("link that leads nowhere", ""): ["README"]}


def passed(*paths: object, **settings: object) -> dict[tuple[str, str], list[str]]:
    """Files that are passed over, by reason and suffix."""
    rows = Files(paths=[str(path) for path in paths], name="web", **settings).inputs().passed_over
    assert all(row.files == len(row.examples) and row.source == "web" for row in rows)
    return {(row.reason, row.suffix): row.examples for row in rows}


def test_every_file_passed_over_is_counted_by_reason_and_suffix(tmp_path: Path):
    """An export in CSV beside the JSON Lines was left out, exit status 0 and not a word of it."""
    names = """a.jsonl b.jsonl.lz4 c.csv C2.CSV d.csv.gz e.jsonl.gz.1 f g._ .g.jsonl .bashrc _h.jsonl
        .git/objects/i.jsonl sub/.cache/deep/j.csv k.jsonl.tmp l.parquet.part _temporary/0/m.jsonl
        n.parquet.crdownload _SUCCESS sub/_committed_12 _metadata o.a-name-that-says-nothing"""
    put(*(tmp_path / name for name in names.split()))
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "empty.txt").touch()
    (tmp_path / "damaged.jsonl.gz").touch()  # not empty but cut: reading it says so
    (tmp_path / "damaged.parquet").touch()
    os.mkfifo(tmp_path / "pipe.jsonl")
    os.mkfifo(tmp_path / "pipe")
    assert found(tmp_path) == [f"{tmp_path}/{name}" for name in ("a.jsonl", "damaged.jsonl.gz", "damaged.parquet")]
    assert passed(tmp_path) == {
        ("unknown suffix", ".lz4"): ["b.jsonl.lz4"],
        ("unknown suffix", ".csv"): ["C2.CSV", "c.csv"],
        ("unknown suffix", ".csv.gz"): ["d.csv.gz"],
        ("unknown suffix", ".1"): ["e.jsonl.gz.1"],
        ("unknown suffix", ""): ["f", "g._", "o.a-name-that-says-nothing"],
        ("hidden", ".jsonl"): [".g.jsonl", ".git/objects/i.jsonl", "_h.jsonl"],
        ("hidden", ""): [".bashrc"],
        ("hidden", ".csv"): ["sub/.cache/deep/j.csv"],
        ("unfinished", ".tmp"): ["k.jsonl.tmp"],
        ("unfinished", ".part"): ["l.parquet.part"],
        ("unfinished", ".crdownload"): ["n.parquet.crdownload"],
        ("unfinished", ".jsonl"): ["_temporary/0/m.jsonl"],
        ("success marker", ""): ["_SUCCESS", "_metadata", "sub/_committed_12"],
        ("empty", ".jsonl"): ["empty.jsonl"],
        ("empty", ".txt"): ["empty.txt"],
        ("not a regular file", ".jsonl"): ["pipe.jsonl"],
        ("not a regular file", ""): ["pipe"],
    }


def test_only_what_a_path_means_and_no_other_path_names_is_passed_over(tmp_path: Path):
    """A count of files that the glob never meant, or that are read after all, teaches people to ignore it."""
    put(*(tmp_path / name for name in ("a.jsonl", "b.csv", "_c.jsonl", "sub/d.csv", ".x/e.jsonl")))
    assert passed(tmp_path / "*.jsonl") == {("hidden", ".jsonl"): ["_c.jsonl"]}
    assert passed(tmp_path / "*.jsonl", tmp_path / "_c.jsonl") == {}
    assert passed(tmp_path / "a.jsonl") == {}
    assert passed(tmp_path / "**/*.jsonl") == {("hidden", ".jsonl"): [".x/e.jsonl", "_c.jsonl"]}
    assert passed(tmp_path / "*") == passed(tmp_path / "*", tmp_path / "?*") != passed(tmp_path)


def test_many_suffixes_stay_few_rows(tmp_path: Path):
    """Files named by numbers, as logs are, would fill the manifest."""
    put(tmp_path / "a.jsonl", *(tmp_path / f"log.{number}" for number in range(500)), tmp_path / "b.csv")
    rows = Files(paths=[str(tmp_path)]).inputs().passed_over
    assert len(rows) < 30
    assert sum(row.files for row in rows) == 501
    assert max(rows, key=lambda row: row.files).suffix == "other"


def test_a_hidden_folder_that_cannot_be_read_stops_nothing(tmp_path: Path):
    """A trash folder with names in another encoding, or a link to anywhere, is no input."""
    put(tmp_path / "a.jsonl")
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".trash" / os.fsdecode(b"lait\xe9.jsonl")).write_text("{}")
    (tmp_path / os.fsdecode(b".lait\xe9")).mkdir()
    (tmp_path / ".elsewhere").symlink_to("/usr/bin")
    assert found(tmp_path) == [f"{tmp_path}/a.jsonl"]
    assert passed(tmp_path)["hidden", ".jsonl"] == [".trash/lait\ufffd.jsonl"]


OUTSIDE = {
    "a file": ("in/notes.jsonl", "secret.jsonl"),
    "a folder": ("in/more", "elsewhere"),
    "a chain": ("in/one.jsonl", "in/.two"),
    "a folder within": ("in/sub/deep/more", "elsewhere"),
}


@pytest.mark.parametrize("kind", OUTSIDE)
@pytest.mark.parametrize("pattern", ["in", "in/**/*.jsonl", "in/**", "alias"])
def test_a_link_out_of_the_input_folder_is_refused_or_followed_and_listed(tmp_path: Path, kind: str, pattern: str):
    """A link that somebody put into a shared folder published a file of the system, without a word."""
    name, target = OUTSIDE[kind]
    put(tmp_path / "in" / "a.jsonl", tmp_path / "in/sub/deep/b.jsonl", tmp_path / "secret.jsonl")
    put(tmp_path / "elsewhere" / "secret.jsonl")
    (tmp_path / "alias").symlink_to("in")
    (tmp_path / "in" / ".two").symlink_to("../secret.jsonl")
    (tmp_path / name).symlink_to(tmp_path / target)
    with pytest.raises(
        InputError, match=rf"{Path(name).name}/?: a link that leads out of its input folder, to .*links: "
    ):
        found(tmp_path / pattern)
    shards = Files(paths=[str(tmp_path / pattern)], links="follow").shards()
    assert {Path(shard.link).name for shard in shards} == {"", "secret.jsonl"}
    assert sum(bool(shard.link) for shard in shards) == 1


def test_links_within_the_input_folders_and_paths_given_by_name_are_read(tmp_path: Path):
    put(tmp_path / "real/x/a.jsonl", tmp_path / "real/y/b.jsonl", tmp_path / "other/c.jsonl", tmp_path / "d.jsonl")
    (tmp_path / "real/x/same.jsonl").symlink_to("../y/b.jsonl")
    (tmp_path / "real/x/c.jsonl").symlink_to(tmp_path / "other/c.jsonl")
    (tmp_path / "in").symlink_to("real")
    (tmp_path / "named.jsonl").symlink_to("d.jsonl")
    paths = [tmp_path / "in", tmp_path / "other", tmp_path / "named.jsonl"]
    assert [Path(uri).name for uri in found(*paths)] == ["a.jsonl", "c.jsonl", "same.jsonl", "named.jsonl"]
    assert all(not shard.link for shard in Files(paths=[str(path) for path in paths]).shards())


def test_a_link_that_no_path_means_is_nobodys_business(tmp_path: Path):
    """A folder of results beside the input, linked to another disk, must not stop a run over ``data/*/x.jsonl``."""
    put(tmp_path / "web" / "x.jsonl", tmp_path / "y.jsonl")
    (tmp_path / "results").symlink_to("/usr/bin")
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    assert found(tmp_path / "web*" / "x.jsonl") == found(tmp_path / "[w]eb" / "**") == [f"{tmp_path}/web/x.jsonl"]
    assert passed(tmp_path / "*", tmp_path / "web") == {("unknown suffix", ""): ["passwd"]}


@pytest.mark.parametrize(
    ("path", "folder", "reached"),
    [
        ("in", "in/out", True),
        ("in", "in", True),
        ("in/**/*.jsonl", "in/out/deep", True),
        ("in/*/*.jsonl", "in/out", True),
        ("alias", "in/out", True),
        ("in", "alias/out", True),
        ("**", "out", True),
        ("in/*.jsonl", "in/out", False),
        ("in/a*/*.jsonl", "in/out", False),
        ("in", "input-out", False),
        ("in", ".", False),
        ("in/a.jsonl", "in/out", False),
        ("*.jsonl", "out", False),
        ("s3://bucket/in", "s3://bucket/in/out", True),
        ("s3://bucket/in/*.jsonl", "s3://bucket/in/out", False),
        ("s3://bucket/in", "s3://bucket/in-out", False),
        ("s3://bucket/in", "in/out", False),
    ],
)
def test_whether_an_output_would_become_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, folder: str, reached: bool
):
    """The first run published into its own input; every later one was refused."""
    put(tmp_path / "in" / "a.jsonl")
    (tmp_path / "alias").symlink_to("in")
    monkeypatch.chdir(tmp_path)
    assert Files(paths=[path]).reaches(folder) is reached


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
