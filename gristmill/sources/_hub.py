"""What the ``datasets`` library and the hub say of a data set: its commit, its splits, their files, and rows of formats
that are not read here.

The library takes more than a second to load, so it is imported where it is first needed.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import yaml

from gristmill.errors import ConfigError, InputError, StorageError, alternatives
from gristmill.sources import _listing
from gristmill.sources._found import Links, Passed
from gristmill.sources._limits import Limits
from gristmill.sources._names import base_name, kind_of
from gristmill.sources._remote import hub_failures
from gristmill.sources._streams import text_of
from gristmill.types import Value

HUB = "hf://datasets/"
MAIN = "main"
UNUSED = "in no split"
DEFAULT = "default"
"""Name of the only configuration of a data set that defines none."""

BATCH_ROWS = 256
"""Rows at a time of what the library reads: their length is not known beforehand."""

_SECONDS = 30.0
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_ROWS = re.compile(r"\.(jsonl|ndjson|parquet)(\.|$)", re.IGNORECASE)
_MAYBE_ARRAY = re.compile(r"\.json(\.|$)", re.IGNORECASE)
_ADVICE = re.compile("Example of usage|with any supported extension")
_MAGIC = ("*", "?", "[", "::")


class Choice(Value, frozen=True, kw_only=True):
    """Which rows of a data set are meant."""

    root: str
    """A folder, or ``hf://datasets/<org>/<name>@<commit>``."""
    config_name: str | None
    split: str
    data_files: list[str] | None


class Listed(Value, frozen=True, kw_only=True):
    """The files of a split."""

    files: list[str]
    """Paths or URIs in the order in which the library reads them."""
    unused: dict[str, Passed]
    """Files that look like data and are in no split: the library leaves out names with upper-case suffixes, ``::`` or
    line breaks, and every format but the most frequent, without a word."""
    readable: bool
    """Whether they are parquet or JSON Lines and hold the rows just as the data set means them."""


def pinned(path: str, revision: str) -> str:
    """A folder as it is, or the data set of this name on the hub at the commit that ``revision`` leads to now.

    Raises ``InputError`` when there is no such data set or revision, ``StorageError`` when the hub does not answer.
    """
    folder = Path(path)
    if folder.is_dir():
        if revision != MAIN:
            raise ConfigError(f"{path}: a folder has no revisions; leave out revision: {revision}")
        return str(folder)
    if not _ID.fullmatch(path):
        raise InputError(f"{path}: no such folder; accepted: a folder, or org/name of a data set on the hub")
    return f"{HUB}{path}@{_commit(path, revision)}"


def _commit(path: str, revision: str) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import OfflineModeIsEnabled, RepositoryNotFoundError, RevisionNotFoundError

    api = HfApi()
    try:
        return str(api.dataset_info(path, revision=revision, timeout=_SECONDS).sha)
    except RepositoryNotFoundError as error:
        what = f"{path}: no such folder, and no data set of this name at {api.endpoint}"
        raise InputError(f"{what}; a private or gated one needs a token in HF_TOKEN") from error
    except RevisionNotFoundError as error:
        refs = api.list_repo_refs(path, repo_type="dataset")
        names = [*(ref.name for ref in [*refs.branches, *refs.tags]), "and commits"]
        raise InputError(f"{path}: no revision {revision!r}; {alternatives(revision, names)}") from error
    except OfflineModeIsEnabled as error:
        raise ConfigError(f"{path}: no such folder, and HF_HUB_OFFLINE forbids to ask the hub") from error
    except hub_failures() as error:
        raise StorageError(f"{path}: no such folder, and {api.endpoint} does not answer: {error}") from error


def listed(choice: Choice) -> Listed:
    """The files of the split. Raises ``InputError`` that lists the configurations or splits there are."""
    if not choice.root.startswith(HUB) and any(mark in choice.root for mark in _MAGIC):
        raise InputError(
            f"{choice.root}: the datasets library takes {' '.join(_MAGIC)} for wildcards; rename the folder"
        )
    with TemporaryDirectory(prefix="gristmill-") as cache, _explained(choice):
        builder = _library().load_dataset_builder(**_call(choice, cache))
    splits = {str(name): list(files) for name, files in builder.config.data_files.items()}
    if choice.split not in splits:
        raise InputError(f"{choice.root}: no split {choice.split!r}; {alternatives(choice.split, splits)}")
    used = {_as_written(file, choice.root) for files in splits.values() for file in files}
    whole = builder.config.name == DEFAULT and choice.data_files is None
    files = [_as_written(file, choice.root) for file in splits[choice.split]]
    return Listed(
        files=files, unused=_unused(choice.root, used) if whole else {}, readable=_is_readable(builder, files)
    )


def _unused(root: str, used: set[str]) -> dict[str, Passed]:
    try:
        there = _listing.files([root], follow=True)
    except InputError:
        return {}  # nothing here that could be read
    names = [*(file.uri for file in there.found), *there.passed]
    return {uri: Passed(below=uri.removeprefix(f"{root}/"), reason=UNUSED) for uri in names if _is_unused(uri, used)}


def _is_unused(uri: str, used: set[str]) -> bool:
    return uri not in used and _ROWS.search(uri) is not None


def links(root: str, *, follow: bool) -> Links:
    """What the links in a data set's folder may lead to. In the hub's cache the files of a commit are links into the
    folder of the data set."""
    folder = Path(root).resolve()
    cached = folder.parent.name == "snapshots" and (folder.parents[1] / "blobs").is_dir()
    return Links(roots=[str(folder.parents[1] if cached else folder)], follow=follow)


def stream_count(choice: Choice) -> int:
    """Into how many parts the library divides the split."""
    with _streamed(choice) as rows:
        return int(rows.num_shards)


def stream(choice: Choice, index: int) -> Iterator[pa.Table]:
    """The rows of one part of the split, a few at a time."""
    with _streamed(choice) as rows:
        part = rows.shard(num_shards=rows.num_shards, index=index)
        yield from part.with_format("arrow").iter(batch_size=BATCH_ROWS)


@contextmanager
def _streamed(choice: Choice) -> Iterator[Any]:
    with TemporaryDirectory(prefix="gristmill-") as cache, _explained(choice):
        yield _library().load_dataset(**_call(choice, cache), split=choice.split, streaming=True)


def _library() -> Any:
    import datasets

    datasets.disable_progress_bars()
    # Counting downloads tells a public server the names of data sets, those of a private hub included.
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
    return datasets


def _call(choice: Choice, cache: str) -> dict[str, Any]:
    """Arguments of the library's functions. The cache is a new one: where the hub cannot be reached, they would
    silently take what an earlier run left in the usual one."""
    path, _, commit = choice.root.partition("@") if choice.root.startswith(HUB) else (choice.root, "", "")
    return {
        "path": path if commit else str(Path(path).resolve()),
        "revision": commit or None,
        "name": choice.config_name,
        "data_files": choice.data_files,
        "cache_dir": cache,
    }


@contextmanager
def _explained(choice: Choice) -> Iterator[None]:
    """The library's errors in one line each."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        yield
    except (ConnectionError, TimeoutError, HfHubHTTPError) as error:
        raise StorageError(f"{choice.root}: {_one_line(error)}") from error
    except (FileNotFoundError, ValueError, RuntimeError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        raise InputError(f"{choice.root}: {_one_line(error)}") from error
    except hub_failures() as error:
        raise StorageError(f"{choice.root}: {_one_line(error)}") from error


def _one_line(error: BaseException) -> str:
    """Without the library's advice on its own functions and its list of 200 suffixes."""
    return " ".join(_ADVICE.split(str(error))[0].split()) or type(error).__name__


def _as_written(file: str, root: str) -> str:
    """A file of a folder below the folder's name in the configuration, where the library gives absolute paths."""
    resolved = f"{Path(root).resolve()}/"
    return f"{root.rstrip('/')}/{file.removeprefix(resolved)}" if file.startswith(resolved) else file


def _is_readable(builder: Any, files: list[str]) -> bool:
    config = builder.config
    as_stored = all(getattr(config, name, None) is None for name in ("filters", "field"))
    return (
        builder.name in ("parquet", "json")
        and as_stored
        and getattr(config, "encoding", "utf-8") == "utf-8"
        and {kind_of(file) for file in files} <= {"parquet", "jsonl"}
        and not any(_is_array(file) for file in [file for file in files if _MAYBE_ARRAY.search(base_name(file))][:1])
    )


def _is_array(uri: str) -> bool:
    """Whether a ``.json`` file is one array and not a line an object."""
    try:
        with _listing.opened(uri) as raw:
            return next(text_of(raw, Limits()).pieces, b"").lstrip()[:1] == b"["
    except InputError:
        return False  # reading the shard gives the same error, in its own task
