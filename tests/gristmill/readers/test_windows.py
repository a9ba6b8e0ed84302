"""What a training loop reads: exactly the ids of the file, seeded, without eating the memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifests import data_set, manifest, token_file, write_manifest

from gristmill.errors import ConfigError, InputError
from gristmill.readers.windows import Windows

EOT = 50256


def written(folder: Path, ids: "np.ndarray | list[int]", dtype: str = "<u2") -> Path:
    path = folder / "train.bin"
    np.array(ids, dtype).tofile(path)
    return path


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int32"])
def test_windows_are_the_ids_of_the_file(tmp_path: Path, dtype: str) -> None:
    """Against a plain list, with the places drawn by the generator that the docstring names."""
    ids = np.random.default_rng(3).integers(0, 60_000, 1000).tolist()
    found = Windows(written(tmp_path, ids, dtype), length=16, seed=9, dtype=dtype)
    draws = np.random.default_rng(9)
    for _ in range(3):
        x, y = found.batch(5)
        places = draws.integers(0, len(ids) - 16, 5).tolist()
        assert x.tolist() == [ids[place : place + 16] for place in places]
        assert y.tolist() == [ids[place + 1 : place + 17] for place in places]
        assert x.dtype == y.dtype == np.int64
        assert x.shape == y.shape == (5, 16)
        assert x.flags.c_contiguous
        assert y.flags.owndata


def test_a_seed_gives_the_same_batches_and_another_others(tmp_path: Path) -> None:
    """A run that cannot be repeated cannot be debugged."""
    path = written(tmp_path, np.arange(60_000))
    first, same, other = (Windows(path, length=8, seed=seed) for seed in (1, 1, 2))
    batches = [first.batch(50) for _ in range(2)]
    assert np.array_equal(batches[0][0], same.batch(50)[0])
    assert np.array_equal(batches[1][1], same.batch(50)[1])
    assert not np.array_equal(batches[0][0], other.batch(50)[0])


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(1, 12))
def test_every_window_of_the_file_can_come_and_no_other(
    tmp_path_factory: pytest.TempPathFactory, length: int, more: int
) -> None:
    """Off by one at the end either loses the last id for ever or reads past the file."""
    path = written(tmp_path_factory.mktemp("ids"), np.arange(length + more))
    x, y = Windows(path, length=length).batch(300)
    assert sorted(set(x[:, 0].tolist())) == list(range(more))
    assert y.max() == length + more - 1
    assert np.array_equal(x + 1, y)


def stream(lengths: list[int], side: str) -> list[int]:
    ids: list[int] = []
    for number, length in enumerate(lengths):
        body = list(range(100 * number, 100 * number + length))
        ids += [*body, EOT] if side == "append" else [EOT, *body]
    return ids


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 12), st.sampled_from(["append", "prepend"]))
def test_aligned_windows_start_where_documents_start(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], length: int, side: str
) -> None:
    """Every document start with room for a window, found from a list of documents, and nothing else."""
    ids = stream(lengths, side)
    sizes = np.array([0, *(size + 1 for size in lengths)])
    wanted = {start for start in np.cumsum(sizes)[:-1].tolist() if start + length + 1 <= len(ids)}
    path = written(tmp_path_factory.mktemp("ids"), ids)
    options = {"length": length, "aligned": "document", "eot_id": EOT, "eot_side": side}
    if not wanted:
        with pytest.raises(InputError, match=r"train\.bin"):
            Windows(path, **options)
        return
    x, y = Windows(path, **options).batch(200)
    assert {tuple(row) for row in x.tolist()} == {tuple(ids[start : start + length]) for start in wanted}
    assert {tuple(row) for row in y.tolist()} == {tuple(ids[start + 1 : start + length + 1]) for start in wanted}


def test_alignment_finds_starts_across_the_scanned_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is scanned piece by piece: an end of text that closes a piece must not be lost."""
    ids = stream([2, 4, 1, 5, 3, 3], "append")
    path = written(tmp_path, ids)
    monkeypatch.setattr("gristmill.readers.windows.SCAN_IDS", 3)
    x, _ = Windows(path, length=2, aligned="document", eot_id=EOT).batch(200)
    assert sorted(set(x[:, 0].tolist())) == [0, 100, 200, 300, 400, 500]


def test_a_data_set_is_read_as_its_manifest_says(tmp_path: Path) -> None:
    """A wrong type of ids would be read as noise without an error."""
    output = data_set(tmp_path / "out", [5, 6, 0, 7, 8, 0, 9, 0])
    assert Windows(output, length=2).dtype == np.dtype("<u2")
    x, _ = Windows(output, length=2, aligned="document").batch(100)
    assert {tuple(row) for row in x.tolist()} == {(5, 6), (7, 8)}


def test_a_split_that_is_not_there_is_refused_with_the_files_that_are(tmp_path: Path) -> None:
    output = data_set(tmp_path / "out", [1, 2, 3])
    with pytest.raises(ConfigError, match=r"split 'val'; there are: nanogpt/train\.bin"):
        Windows(output, length=1, split="val")


def test_two_files_of_a_split_are_not_chosen_from(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest(files=[token_file(), token_file(path="olmo/part-0.bin", format="olmo")]))
    with pytest.raises(ConfigError, match=r"no single \.bin file"):
        Windows(tmp_path, length=1)


@pytest.mark.parametrize("count", [0, 1, 8])
def test_a_file_too_short_for_a_window_is_named(tmp_path: Path, count: int) -> None:
    """nanoGPT's loop fails there with an error about a random range; an empty file cannot even be mapped."""
    path = written(tmp_path, list(range(count)))
    with pytest.raises(InputError, match=rf"train\.bin: {count} ids are too few for a window of 8"):
        Windows(path, length=8)
    assert Windows(written(tmp_path, list(range(9))), length=8).batch(2)[1].tolist() == [list(range(1, 9))] * 2


def test_a_file_that_ends_within_an_id_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.bin").write_bytes(b"x" * 101)
    with pytest.raises(InputError, match=r"101 bytes is no whole number of uint16 ids"):
        Windows(tmp_path / "train.bin", length=4)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.bin: no such file"):
        Windows(tmp_path / "gone.bin", length=4)


@pytest.mark.parametrize("options", [{}, {"eot_id": 0, "eot_side": "none"}])
def test_documents_that_cannot_be_told_are_refused(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="give eot_id"):
        Windows(written(tmp_path, [1, 2, 3]), length=1, aligned="document", **options)


MANY = """
import sys
from pathlib import Path
from gristmill.readers import windows
path = sys.argv[1]
def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024
windows.Windows(path, length=4).batch(1)
start = peak()
windows.SCAN_IDS = 1 << 20
windows.Windows(path, length=4, aligned="document", eot_id=1)
scanned = peak()
windows.REMAP_EVERY = int(sys.argv[3])
drawn = windows.Windows(path, length=4)
for _ in range(int(sys.argv[2]) // 10_000):
    drawn.batch(10_000)
print(scanned - start, peak() - scanned)
"""


def test_memory_stays_bounded_over_a_million_windows(tmp_path: Path) -> None:
    """Touched pages of a mapping count against the process: a training job would be killed for its memory.

    Peaks in MB on a file of 192 MB, after a scan for documents and after the draws; the second process draws fewer and
    never maps anew, to show that the figure does grow where nothing bounds it.
    """
    path = tmp_path / "train.bin"
    with path.open("wb") as file:
        file.write(np.arange(8192, dtype="<u2").tobytes())
        file.truncate(192 << 20)
    grown = []
    for draws, every in ((1_000_000, 1024), (30_000, 10**9)):
        command = [sys.executable, "-c", MANY, str(path), str(draws), str(every)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        grown.append([int(figure) for figure in done.stdout.split()])
    assert max(grown[0]) < 100
    assert grown[1][1] > 100
