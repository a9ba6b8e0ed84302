"""Every window of the ids, whatever files they lie in, without eating the memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifests import data_set
from reader_sets import GENERATIONS, Documents, published, streams

from gristmill.errors import ConfigError, InputError
from gristmill.readers.loader import Loader
from gristmill.readers.windows import Windows


def written(folder: Path, ids: "np.ndarray | list[int]", dtype: str = "<u2") -> Path:
    path = folder / "train.bin"
    np.array(ids, dtype).tofile(path)
    return path


def rows(windows: Windows) -> list[list[int]]:
    """All windows in the order of the files."""
    found = windows.read(np.arange(windows.blocks.sum()))
    assert found.mask.all()
    return found.ids.tolist()


def cut(ids: list[int], length: int) -> list[list[int]]:
    return [ids[start : start + length + 1] for start in range(0, len(ids) - length, length)]


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int32"])
def test_windows_are_the_ids_of_the_file(tmp_path: Path, dtype: str) -> None:
    ids = np.random.default_rng(3).integers(0, 60_000, 1000).tolist()
    windows = Windows(written(tmp_path, ids, dtype), length=16, dtype=dtype)
    assert rows(windows) == cut(ids, 16)
    batch = Loader(windows, batch=5).next()
    assert batch.x.dtype == batch.y.dtype == np.int64
    assert batch.x.shape == batch.y.shape == (5, 16)
    assert np.array_equal(batch.x[:, 1:], batch.y[:, :-1])
    assert [row[0] for row in batch.y.tolist()] == [ids[ids.index(row[0]) + 1] for row in batch.x.tolist()]


@settings(deadline=None, max_examples=40)
@given(GENERATIONS, st.integers(1, 12), st.integers(20, 90), st.sets(st.integers(0, 3), max_size=3))
def test_every_window_of_every_file_is_there_once(
    tmp_path_factory: pytest.TempPathFactory, generations: list[Documents], length: int, size: int, removed: set[int]
) -> None:
    """Over files, generations and spans that are passed over, against the documents written out."""
    output = published(tmp_path_factory.mktemp("set"), generations, cut=size, removed=tuple(removed))
    wanted = []
    for documents, stream in zip(generations, streams(generations), strict=True):
        keep = np.repeat([shard not in removed for shard, _ in documents], [length + 1 for _, length in documents])
        for low in range(0, len(stream), size):
            kept = np.array(stream[low : low + size])[keep[low : low + size]]
            wanted += cut(kept.tolist(), length)
    if not wanted:
        with pytest.raises(InputError, match="too few ids"):
            Windows(output, length=length)
        return
    assert rows(Windows(output, length=length)) == wanted


def test_what_a_label_mask_hides_is_not_learned(tmp_path: Path) -> None:
    """A mask read from another place than its ids hides what should be learned: over files, behind spans that are
    passed over, at every id."""
    documents = [(number % 3, 5 + number) for number in range(30)]
    windows = Windows(published(tmp_path, [documents], cut=70, removed=(1,), hide=3), length=7)
    found = windows.read(np.arange(windows.blocks.sum()))
    assert np.array_equal(found.mask, found.ids % 3 != 0)
    assert 0.2 < found.mask.mean() < 0.8
    batch = Loader(windows, batch=9).next()
    assert np.array_equal(batch.labels() == -100, batch.y % 3 == 0)


def test_a_reader_of_earlier_generations_is_not_changed_by_later_ones(tmp_path: Path) -> None:
    """A run that resumes after a nightly build must go on in the order that it began."""
    first: Documents = [(0, 30), (1, 30)]
    before = Loader(Windows(published(tmp_path / "a", [first]), length=4), batch=2)
    after = published(tmp_path / "b", [first, [(2, 30)]])
    Loader(Windows(after, length=4, generations=1), batch=2).load_state_dict(before.state_dict())
    with pytest.raises(ConfigError, match="number of its generations"):
        Loader(Windows(after, length=4), batch=2).load_state_dict(before.state_dict())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"dtype": "uint32"}, "its ids are uint16, not uint32"),
        ({"tokenizer": "gpt2"}, r"of tokenizer trained bpe 300 \(sha256 (ef)+\), not of gpt2"),
        ({"split": "val"}, r"no nanogpt file of split 'val'; there are: nanogpt/train\.bin"),
        ({"format": "olmo"}, "no format 'olmo' of ids; there are: nanogpt"),
    ],
)
def test_what_the_manifest_does_not_say_is_refused(tmp_path: Path, options: dict[str, str], reason: str) -> None:
    """Ids of another type or tokenizer are read as noise without an error."""
    output = data_set(tmp_path / "out", list(range(9)))
    with pytest.raises(ConfigError, match=reason):
        Windows(output, length=2, **options)  # type: ignore[arg-type]
    for right in ({"dtype": "uint16"}, {"tokenizer": "trained bpe 300"}, {"tokenizer": "ef" * 32}):
        assert len(rows(Windows(output, length=2, **right))) == 4  # type: ignore[arg-type]


def test_a_file_of_other_bytes_than_ids_is_refused(tmp_path: Path) -> None:
    """Read from a wrong offset, every id would be made of halves of two."""
    output = published(tmp_path, [[(0, 20)]], dtype="uint32")
    with pytest.raises(InputError, match="42 bytes are not 21 ids of uint32"):
        Windows(output, length=4)


def test_a_file_that_was_cut_is_found_when_it_is_read(tmp_path: Path) -> None:
    output = published(tmp_path, [[(0, 20)]])
    path = output / "nanogpt" / "train-0-00000.bin"
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(InputError, match="ends at byte 36; the manifest has 42"):
        rows(Windows(output, length=4))


@pytest.mark.parametrize("count", [0, 1, 8])
def test_a_file_too_short_for_a_window_is_named(tmp_path: Path, count: int) -> None:
    """nanoGPT's loop fails there with an error about a random range; an empty file cannot even be mapped."""
    path = written(tmp_path, list(range(count)))
    with pytest.raises(InputError, match=rf"too few ids for a window of 8 and its target: train\.bin has {count}"):
        Windows(path, length=8)
    assert rows(Windows(written(tmp_path, list(range(9))), length=8)) == [list(range(9))]


def test_a_file_that_ends_within_an_id_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.bin").write_bytes(b"x" * 101)
    with pytest.raises(InputError, match=r"101 bytes is no whole number of uint16 ids"):
        Windows(tmp_path / "train.bin", length=4)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.bin: no such file"):
        Windows(tmp_path / "gone.bin", length=4)


MANY = """
import sys
from pathlib import Path
from gristmill.readers.loader import Loader
from gristmill.readers.windows import Windows
def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024
loader = Loader(Windows(sys.argv[1], length=64), batch=10_000, shuffle="samples")
loader.next()
start = peak()
for _ in range(30):
    loader.next()
print(peak() - start)
"""


def test_memory_stays_bounded_over_many_windows(tmp_path: Path) -> None:
    """Touched pages of a mapping count against the process: a training job would be killed for its memory. MB, over
    300,000 windows all over a file of 192 MB."""
    path = tmp_path / "train.bin"
    with path.open("wb") as file:
        file.write(np.arange(8192, dtype="<u2").tobytes())
        file.truncate(192 << 20)
    done = subprocess.run([sys.executable, "-c", MANY, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 60
