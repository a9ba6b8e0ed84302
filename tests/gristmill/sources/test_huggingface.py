"""The ``huggingface`` source on folders and on a hub of its own.

The library reads the address of the hub once, when it is imported: so a child process does all the work.
"""

import json
import multiprocessing
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import CARD, plain, texts, write
from hub import Hub, passed_over, rows_by_library, shards_of_small_parts, without_waiting
from reading import Read, read

from gristmill.errors import ConfigError, InputError, StorageError
from gristmill.plugins import load
from gristmill.sources.base import Chunk, Source
from gristmill.sources.huggingface import HuggingFace
from gristmill.types import ShardRef

Ask = Callable[..., Any]
FIRST, SECOND = "a" * 40, "b" * 40


@pytest.fixture
def carded(tmp_path: Path) -> Path:
    """A data set whose README names configurations and splits."""
    for name in ("english/b.jsonl", "english/a.jsonl", "held/v.jsonl", "german/x.jsonl.gz", "left/out.jsonl"):
        write(tmp_path / "carded" / name, texts(name))
    (tmp_path / "carded" / "README.md").write_text(CARD)
    return tmp_path / "carded"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    root = tmp_path_factory.mktemp("hub")
    commits = {FIRST: plain(root / "old"), SECOND: plain(root / "new", 2)}
    write(commits[FIRST] / "table.csv", texts("csv"))
    with Hub("org/set", commits, {"main": FIRST, "next": SECOND}) as server:
        yield server


@pytest.fixture(scope="module")
def ask(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Call a function in a process that knows no other hub than ours, and no cache or token of whoever runs this."""
    with pytest.MonkeyPatch.context() as patch, ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_DATASETS_CACHE", "HF_HUB_CACHE"):
            patch.delenv(name, raising=False)
        patch.setenv("HF_ENDPOINT", hub.address)
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("home")))
        pool.submit(len, "").result()  # starts the process, which takes the environment along
        yield lambda function, *args: pool.submit(function, *args).result(60)


def shards(source: Source) -> list[ShardRef]:
    return source.shards()


def chunks(source: Source, shard: ShardRef) -> list[Chunk]:
    return list(source.read(shard))


def of(path: Path | str, **settings: Any) -> HuggingFace:
    return HuggingFace(path=str(path), **settings)


def test_settings_survive_json_whichever_way_shards_is_written():
    """A worker gets the plugin by JSON: a lost number of shards would read the whole data set."""
    written = load("sources", {"kind": "huggingface", "path": "org/set", "shards": 8, "revision": FIRST})
    assert load("sources", json.loads(json.dumps(written.settings()))) == written
    assert written == HuggingFace(path="org/set", first_shards=8, revision=FIRST)
    assert "revision" not in written.reading()


@pytest.mark.parametrize("settings", [{"path": ""}, {"path": "x", "shards": 0}, {"path": "x", "data_files": []}])
def test_a_wrong_setting_is_refused_before_anything_is_read(settings: dict[str, Any]):
    with pytest.raises(ConfigError, match=f"huggingface: {list(settings)[-1]}: "):
        load("sources", {"kind": "huggingface", **settings})


def test_a_folder_without_a_readme_is_split_by_its_names(ask: Ask, tmp_path: Path):
    folder = plain(tmp_path / "set")
    found: Read = ask(read, of(folder, id_key="id"))
    assert found.texts == [text for number in range(12) for text in texts(f"set {number}")]
    assert found.ids[0] == "train-00000-of-00012.parquet-set 0 0"
    assert ask(read, of(folder, split="test")).texts == texts("test")


def test_shards_are_named_as_the_folder_is_written(ask: Ask, tmp_path: Path):
    """A resolved name would redo everything where the same folder is mounted elsewhere under the same link."""
    plain(tmp_path / "set", 1)
    (tmp_path / "link").symlink_to("set")
    (shard,) = ask(shards, of(f"{tmp_path}/link/"))
    assert shard.uri == f"{tmp_path}/link/data/train-00000-of-00001.parquet"


def test_a_readme_names_configurations_and_splits(ask: Ask, carded: Path):
    found: Read = ask(read, of(carded, config_name="en"))
    assert found.texts == texts("english/a.jsonl") + texts("english/b.jsonl")
    assert found.ids[0] == "a.jsonl:1"
    assert ask(read, of(carded, config_name="en", split="validation")).texts == texts("held/v.jsonl")
    assert ask(read, of(carded, config_name="de")).texts == texts("german/x.jsonl.gz")
    assert ask(read, of(carded, data_files=["left/*.jsonl"])).texts == texts("left/out.jsonl")


def test_the_first_shards_and_the_last_are_taken(ask: Ask, tmp_path: Path):
    """The last one is the validation set of ``split: last_shard``: without it two runs compare different losses."""
    folder = plain(tmp_path / "set")
    names = [Path(shard.uri).name[6:11] for shard in ask(shards, of(folder, first_shards=3))]
    assert names == ["00000", "00001", "00002", "00011"]
    for enough in (11, 12, 99):
        assert len(ask(shards, of(folder, first_shards=enough))) == 12


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv", "a.txt", "a.json"])
def test_rows_are_those_of_the_library(ask: Ask, tmp_path: Path, name: str):
    """Formats that are read here must give what everyone else reads from the same data set, and others too."""
    for number, suffix in enumerate(("", "b")):
        write(tmp_path / "set" / f"{suffix}{name}", texts(f"{name} {number}", 300))
    found: Read = ask(read, of(tmp_path / "set"))
    assert found.texts == [row["text"] for row in ask(rows_by_library, str(tmp_path / "set"), "train")]
    assert len({*found.ids}) == 600
    assert not found.bad


def test_other_formats_are_read_in_the_librarys_shards(ask: Ask, tmp_path: Path):
    folder = tmp_path / "set"
    for number in range(4):
        write(folder / f"{number}.csv", texts(str(number)))
    (folder / "0.csv").write_text('id,text,n\nk,"one, two",5\nl,,6\n')
    source = of(folder, id_key="id", columns=["n"], first_shards=1)
    found: Read = ask(read, source)
    assert found.texts == ["one, two", *texts("3")]
    assert found.ids == ["k", "0", "1", "2"]
    assert found.column("n") == ["5", None, None, None]
    assert found.faults == [("row 1", "null_text")]
    first, last = ask(shards, source)
    assert (first.part, last.part) == ({"start": 0, "stop": 1}, {"start": 3, "stop": 4})
    assert ask(read, of(folder, first_shards=1)).ids[0] == "train/0:0"


def test_a_changed_file_changes_the_identity_of_the_librarys_shards(ask: Ask, tmp_path: Path):
    """They are named after the folder: what was fetched before would stand for the new rows."""
    write(tmp_path / "set" / "train.csv", ["one"])
    write(tmp_path / "set" / "test.csv", ["two"])
    before = ask(shards, of(tmp_path / "set"))
    assert ask(shards, of(tmp_path / "set")) == before
    assert ask(shards, of(tmp_path / "set", split="test"))[0].identity != before[0].identity
    write(tmp_path / "set" / "train.csv", ["other"])
    assert ask(shards, of(tmp_path / "set"))[0].identity != before[0].identity


def test_large_files_are_divided_unless_they_are_many(ask: Ask, tmp_path: Path):
    """Few files must keep all workers busy; a look into each of thousands takes an hour over a network."""
    for number in range(64):
        path = tmp_path / "set" / f"{number:02d}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"text": texts(f"{number} " + "x" * 200, 4)}), path, row_group_size=2)
    source = of(tmp_path / "set")
    few = ask(shards_of_small_parts, source)
    assert [shard.part for shard in few[:2]] == [{"start": 0, "stop": 1}, {"start": 1, "stop": 2}]
    assert len(few) == 128
    shutil.copy(tmp_path / "set" / "00.parquet", tmp_path / "set" / "64.parquet")
    many = ask(shards_of_small_parts, source)
    assert [shard.part for shard in many] == [None] * 65
    assert [shard.index for shard in many] == list(range(65))
    assert {shard.identity for shard in few} <= {shard.identity for shard in many}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"config_name": "en", "split": "trains"}, "no split 'trains'; there are: train, validation"),
        ({"config_name": "fr"}, r"'fr' not found. Available: \['en', 'de'\]"),
        ({}, r"pick one among the available configs: \['en', 'de'\]$"),
        ({"config_name": "en", "data_files": ["none.jsonl"]}, "Unable to find '.*/none.jsonl'$"),
    ],
)
def test_what_is_not_in_the_data_set_is_told_with_what_is(ask: Ask, carded: Path, settings: Any, message: str):
    with pytest.raises(InputError, match=message) as caught:
        ask(shards, of(carded, **settings))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_an_unknown_column_is_told_with_those_there_are(ask: Ask, tmp_path: Path, name: str):
    write(tmp_path / "set" / name, texts("x"))
    with pytest.raises(InputError, match=r"no column 'body' \(text_key\); there are: (text, id|id, text)") as caught:
        ask(read, of(tmp_path / "set", text_key="body"))
    assert caught.value.reason == "no_text_column"


@pytest.mark.parametrize(
    ("name", "file", "data", "message"),
    [
        ("set", "README.md", "---\nconfigs: [\n---\n", "while parsing"),
        ("set", "README.md", "---\nconfigs: 5\n---\n", "set: "),
        ("set", "notes.docx", "", "No \\(supported\\) data files found"),
        ("set", ".hidden", "", "doesn't contain any data files"),
        ("odd [1]", "a.jsonl", "{}", "for wildcards; rename the folder"),
    ],
)
def test_a_folder_that_is_no_data_set_is_told_in_one_line(
    ask: Ask, tmp_path: Path, name: str, file: str, data: str, message: str
):
    (tmp_path / name).mkdir()
    (tmp_path / name / file).write_text(data)
    if file == "README.md":
        write(tmp_path / name / "a.jsonl", texts("a"))
    with pytest.raises(InputError, match=message) as caught:
        ask(shards, of(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_files_that_the_library_leaves_out_are_named(ask: Ask, tmp_path: Path):
    """It takes neither upper-case suffixes nor a second format: documents would be missing and nobody told."""
    for name in ("a.jsonl", "b.jsonl", "C.JSONL", "d.parquet"):
        write(tmp_path / "set" / name, texts(name))
    rows = ask(passed_over, of(tmp_path / "set"))
    assert [(row.reason, row.suffix, row.files, row.examples) for row in rows] == [
        ("in no split", ".jsonl", 1, ["C.JSONL"]),
        ("in no split", ".parquet", 1, ["d.parquet"]),
    ]
    assert ask(passed_over, of("org/set")) == []


def test_links_out_of_a_folder_are_refused_or_followed(ask: Ask, tmp_path: Path):
    """A folder from a stranger must not bring in files of this machine; the hub's own cache is made of links."""
    write(tmp_path / "private.jsonl", texts("private"))
    write(tmp_path / "set" / "a.jsonl", texts("a"))
    (tmp_path / "set" / "b.jsonl").symlink_to(tmp_path / "private.jsonl")
    with pytest.raises(InputError, match=r"b\.jsonl: a link that leads out of its input folder, to .*/private\.jsonl"):
        ask(shards_of_small_parts, of(tmp_path / "set"))
    followed = of(tmp_path / "set", links="follow")
    assert {shard.link for shard in ask(shards_of_small_parts, followed)} == {"", str(tmp_path / "private.jsonl")}
    snapshot = tmp_path / "datasets--org--set" / "snapshots" / "c0ffee"
    write(snapshot.parents[1] / "blobs" / "beef", texts("cached"))
    snapshot.mkdir(parents=True)
    (snapshot / "a.jsonl").symlink_to("../../blobs/beef")
    assert ask(read, of(snapshot)).texts == texts("cached")


def test_a_folder_has_no_revisions(ask: Ask, carded: Path):
    """A pinned commit that was silently ignored would be a promise that nobody keeps."""
    with pytest.raises(ConfigError, match="a folder has no revisions; leave out revision: v2"):
        ask(shards, of(carded, revision="v2"))


def test_a_data_set_on_the_hub_is_read_at_the_commit_of_the_plan(ask: Ask, hub: Hub):
    """A push while a run is under way would mix two versions in one data set."""
    source = of("org/set", first_shards=1)
    planned = ask(shards, source)
    names = [f"hf://datasets/org/set@{FIRST}/data/train-{n:05d}-of-00012.parquet" for n in (0, 11)]
    assert [shard.uri for shard in planned] == names
    assert all(shard.size > 0 and len(shard.identity) > 40 for shard in planned)
    hub.branches["main"] = SECOND
    try:
        late = Read(chunk for shard in planned for chunk in ask(chunks, source, shard))
        assert late.texts == texts("old 0") + texts("old 11")
        assert ask(read, source).texts == texts("new 0") + texts("new 1")
    finally:
        hub.branches["main"] = FIRST
    assert ask(read, of("org/set", revision="next", split="test")).texts == texts("test")
    assert ask(read, of("org/set", revision=SECOND, first_shards=1)).texts == texts("new 0") + texts("new 1")


def test_other_formats_on_the_hub_are_streamed(ask: Ask):
    found: Read = ask(read, of("org/set", data_files=["*.csv"]))
    assert found.texts == texts("csv")


def test_a_download_that_fails_is_an_error_to_retry(ask: Ask, hub: Hub):
    """And the next attempt works: nothing of the failed one is kept. A refusal and a broken line fail differently."""
    source = of("org/set", first_shards=1)
    shard = ask(shards, source)[0]
    hub.refused[shard.uri.partition(f"@{FIRST}/")[2]] = 1
    with pytest.raises(StorageError, match=r"train-00000-of-00012.parquet: .*403"):
        ask(chunks, source, shard)
    assert Read(ask(chunks, source, shard)).texts == texts("old 0")
    hub.silent = True
    try:
        with pytest.raises(StorageError, match=r"train-00000-of-00012.parquet: .*(disconnected|closed|reset)"):
            ask(without_waiting, chunks, source, shard)
    finally:
        hub.silent = False


@pytest.mark.parametrize(
    ("path", "settings", "message"),
    [
        ("org/none", {}, "org/none: no such folder, and no data set of this name at http://127.*HF_TOKEN"),
        ("org/set", {"revision": "v9"}, "org/set: no revision 'v9'; there are: main, next, and commits"),
        ("org/set", {"split": "x"}, "no split 'x'; there are: train, test"),
        ("none", {}, "none: no such folder; accepted: a folder, or org/name of a data set on the hub"),
        ("../org/set", {}, "no such folder; accepted"),
    ],
)
def test_what_is_not_on_the_hub_is_told(ask: Ask, path: str, settings: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        ask(shards, of(path, **settings))


def test_a_hub_that_does_not_answer_is_an_error_to_retry(ask: Ask, hub: Hub):
    hub.silent = True
    try:
        with pytest.raises(StorageError, match=r"org/set: no such folder, and http://127.* does not answer"):
            ask(shards, of("org/set"))
    finally:
        hub.silent = False
