"""Damage to a published data set is found, and named by file and place."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from corpora import EOT, request, small_corpus, write_documents
from manifests import write_manifest

from gristmill import pipeline
from gristmill.commands.verify import main
from gristmill.errors import ConfigError, VerificationError
from gristmill.inspection.verify import verify, verify_bin
from gristmill.manifest import read_manifest
from gristmill.stages.output.recount import block_digests
from gristmill.storage import disk
from gristmill.types import Manifest

ROOT = Path(__file__).resolve().parents[3]
FLIPS = 200


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published data set of several files: train, val, tokenizer, report, quarantine."""
    folder = tmp_path_factory.mktemp("whole")
    path = write_documents(folder / "in" / "a.jsonl", [*small_corpus(40), *(f"document {n}" for n in range(2500))])
    path.write_bytes(path.read_bytes() + b"{\n")
    pipeline.prepare(request(folder, ordering={"kind": "hashed"}, split={"fraction": 0.1}))
    return folder / "out"


@pytest.fixture
def output(whole: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    for path in whole.rglob("*"):
        if path.is_file():
            target = tmp_path / "out" / path.relative_to(whole)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return tmp_path / "out"


def problems(output: Path) -> list[str]:
    """What verification finds, a broken manifest included."""
    try:
        return verify(str(output)).problems
    except VerificationError as error:
        return [str(error)]


def reseal(output: Path, change: Callable[[Manifest], Manifest]) -> None:
    """Rewrite the manifest with a valid seal, as someone who covers traces would."""
    write_manifest(output, change(read_manifest(output)))


def rewritten(output: Path, name: str, ids: Any) -> None:
    """Replace a token file and make size, checksums and block digests in the manifest agree with it."""
    path = output / name
    np.asarray(ids, "<u2").tofile(path)

    def change(manifest: Manifest) -> Manifest:
        files = [
            msgspec.structs.replace(
                file, sha256=disk.digest(path), bytes=path.stat().st_size, blocks=block_digests(path)
            )
            if file.path == name
            else file
            for file in manifest.files
        ]
        return msgspec.structs.replace(manifest, files=files)

    reseal(output, change)


def sealed_files(output: Path) -> list[Path]:
    """All but ``README.md``, in which people write; what was in it at first is sealed as ``report/card.md``."""
    assert (output / "README.md").read_bytes() == (output / "report" / "card.md").read_bytes()
    return sorted(path for path in output.rglob("*") if path.is_file() and path.name != "README.md")


def test_a_whole_data_set_has_no_problems(whole: Path) -> None:
    """An alarm on good data is the alarm that nobody reads."""
    found = verify(str(whole))
    assert found.problems == []
    assert found.documents == 2540
    assert found.files == len(sealed_files(whole))


def test_every_flipped_bit_is_found_and_its_file_named(output: Path) -> None:
    """Bit rot, a bad cable, a half-finished copy: one bit anywhere in any published file."""
    chance = random.Random(7)
    files = sealed_files(output)
    for number in range(FLIPS):
        path = files[number % len(files)]
        data = path.read_bytes()
        place, bit = chance.randrange(len(data)), chance.randrange(8)
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        found = problems(output)
        assert found, f"{path}: byte {place}, bit {bit}"
        assert all(str(path) in problem for problem in found)
        path.write_bytes(data)
    assert problems(output) == []


def test_a_flipped_bit_is_located_to_its_block(output: Path) -> None:
    """In a file of 500 GB, knowing that something is wrong is not knowing what to copy again."""
    path = output / "nanogpt" / "train.bin"
    data = bytearray(path.read_bytes())
    data[70_001] ^= 1
    path.write_bytes(data)
    assert "bytes 0 to" in problems(output)[0]
    assert "xxh3" in problems(output)[0]


@pytest.mark.parametrize("name", ["nanogpt/train.bin", "nanogpt/val.bin", "tokenizer/tokenizer.json"])
def test_a_missing_or_resized_file(output: Path, name: str) -> None:
    """A sync that left a file out, or cut it."""
    path = output / name
    data = path.read_bytes()
    for changed in (data[:-1], data + b"\0", b""):
        path.write_bytes(changed)
        found = problems(output)
        assert str(path) in found[0]
        assert f"{len(changed)} bytes; expected {len(data)}" in found[0]
    path.unlink()
    assert f"{path}: missing" in problems(output)[0]


def test_a_stranger_beside_the_shards(output: Path) -> None:
    """A trainer's glob would read it as training data."""
    stranger = output / "nanogpt" / "train_2.bin"
    stranger.write_bytes(b"\1\0")
    assert [problem for problem in problems(output) if str(stranger) in problem] == problems(output) != []


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace('"documents": 2540', '"documents": 2541'),
        lambda text: text.replace('"split": "val"', '"split": "train"'),
        lambda text: text + "\n",
        lambda text: text.replace(": ", ":  ", 1),
        lambda _: "{}",
        lambda text: text[: len(text) // 2],
        lambda _: "",
    ],
)
def test_an_edited_manifest(output: Path, edit: Callable[[str], str]) -> None:
    """The record of what was published must not be corrected by hand, however well meant."""
    path = output / "manifest.json"
    text = path.read_text()
    path.write_text(edit(text))
    assert path.read_text() != text
    with pytest.raises(VerificationError, match=str(path)):
        verify(str(output))


def test_an_id_out_of_range_is_named_by_its_byte(output: Path) -> None:
    """The GPU's assertion names neither file nor place; here even recomputed checksums do not hide it."""
    path = output / "nanogpt" / "train.bin"
    ids = np.fromfile(path, "<u2")
    ids[[1000, 2000]] = 257
    rewritten(output, "nanogpt/train.bin", ids)
    assert f"{path}: id number 1000: 257; expected less than 257" in problems(output)


def test_a_missing_end_of_text_is_found(output: Path) -> None:
    """Two documents that run into each other: one EOT fewer than documents, and a start that is none."""
    path = output / "nanogpt" / "train.bin"
    ids = np.fromfile(path, "<u2")
    ends = np.flatnonzero(ids == EOT)
    ids[ends[5]] = 1
    rewritten(output, "nanogpt/train.bin", ids)
    found = problems(output)
    assert f"{path}: {len(ends) - 1} EOT ids; expected {len(ends)}" in found
    assert any(problem.startswith(f"{path}: id ") and "expected document 1000" in problem for problem in found)


def test_a_moved_end_of_text_is_found(output: Path) -> None:
    """The counts agree, and still every document after it is cut at the wrong place."""
    path = output / "nanogpt" / "train.bin"
    ids = np.fromfile(path, "<u2")
    end = int(np.flatnonzero(ids == EOT)[999])
    ids[[end, end - 1]] = ids[[end - 1, end]]
    rewritten(output, "nanogpt/train.bin", ids)
    assert problems(output) == [f"{path}: id {end + 1}: expected document 1000 to start there"]


def test_a_folder_without_a_manifest_is_no_data_set(tmp_path: Path) -> None:
    """A run that was killed leaves no manifest; its folder must not pass for published."""
    with pytest.raises(ConfigError, match=r"manifest\.json"):
        verify(str(tmp_path))


def bare(path: Path, ids: list[int], dtype: str = "<u2") -> str:
    np.array(ids, dtype).tofile(path)
    return str(path)


def test_a_foreign_file_of_ids(tmp_path: Path) -> None:
    """Another tool's train.bin: range, whole ids and EOTs are all that can be known, and that is checked."""
    good = bare(tmp_path / "good.bin", [5, 6, 50256, 7, 50256])
    found = verify_bin(good, vocab_size=50257, eot_id=50256, dtype="uint16")
    assert (found.documents, found.tokens, found.bytes, found.problems) == (2, 5, 10, [])
    low = verify_bin(good, vocab_size=50256, eot_id=50256, dtype="uint16").problems
    assert low == [f"{good}: id number 2: 50256; expected less than 50256"]
    none = verify_bin(bare(tmp_path / "none.bin", [1, 2]), vocab_size=9, eot_id=3, dtype="uint16").problems
    assert "no id 3" in none[0]
    wide = verify_bin(bare(tmp_path / "wide.bin", [1, 70000], "<u4"), vocab_size=70001, eot_id=1, dtype="uint32")
    assert (wide.tokens, wide.problems) == (2, [])


@pytest.mark.parametrize(
    ("data", "dtype"), [(b"\1", "uint16"), (b"\1\0\2", "uint16"), (b"", "uint16"), (b"\1\0", "uint32")]
)
def test_a_foreign_file_that_is_cut(tmp_path: Path, data: bytes, dtype: str) -> None:
    """nanoGPT dies on an odd byte in the middle of the night, and reads an empty file as an error of its own."""
    path = tmp_path / "cut.bin"
    path.write_bytes(data)
    found = verify_bin(str(path), vocab_size=9, eot_id=None, dtype=dtype).problems
    assert f"{path}: {len(data)} bytes; expected a multiple of" in found[0]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "flows/verify.py", *arguments]
    return subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_the_command_says_good_and_bad_by_its_status(output: Path) -> None:
    """A nightly job looks at the status alone."""
    good = command(str(output))
    assert (good.returncode, good.stderr) == (0, "")
    assert "all as recorded" in good.stdout
    path = output / "nanogpt" / "val.bin"
    path.write_bytes(path.read_bytes()[:-2])
    bad = command(str(output))
    assert bad.returncode == 1
    assert [line.startswith(f"error: {path}: ") for line in bad.stderr.splitlines()] == [True]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "OUTPUT or --bin"),
        (["x", "--bin", "y"], "OUTPUT or --bin"),
        (["nowhere"], "nowhere/manifest.json"),
        (["--bin", "nowhere.bin", "--vocab-size", "9"], "nowhere.bin"),
        (["--bin", ".", "--vocab-size", "9"], "."),
        (["--bin", "x.bin"], "--vocab-size"),
    ],
)
def test_requests_that_cannot_be_carried_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], part: str
) -> None:
    """Status 1 would say that data is damaged; a mistyped path is not."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert part in lines[0]


def test_a_foreign_file_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The options must reach the check: a forgotten one would pass everything."""
    path = bare(tmp_path / "x.bin", [5, 300, 9])
    assert main(["--bin", path, "--vocab-size", "301", "--eot", "9"]) == 0
    assert main(["--bin", path, "--vocab-size", "300", "--eot", "9"]) == 1
    assert f"{path}: id number 1: 300" in capsys.readouterr().err
    assert main(["--bin", path, "--vocab-size", "301", "--eot", "8"]) == 1
    assert main(["--bin", path, "--vocab-size", "301", "--dtype", "uint32"]) == 1
