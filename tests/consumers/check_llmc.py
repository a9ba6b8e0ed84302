"""llm.c's C loader, its Llama 3 loader and its writer, from a checkout (LLMC=...), against our shards."""

import contextlib
import importlib.util
import io
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType

import numpy as np
from expected import Expected, checkout, data_sets, done

B, T, RANKS = 4, 64, 2
STEP = B * T * RANKS

root = checkout("LLMC", "karpathy/llm.c")


def module(path: str) -> ModuleType:
    """One of its scripts, imported."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, root / path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def shards(expected: Expected, split: str) -> list[np.ndarray]:
    """Ids of all generations by shard, in the order of the file names, where a later generation's come first: exactly
    10,000 ids, a rest of fewer than 1,000 with the shard before it."""
    found = {}
    for generation in (1, 2):
        stream = expected.stream(generation, split, "prepend")
        edges = [*range(0, len(stream), 10_000), len(stream)]
        if len(edges) > 2 and edges[-1] - edges[-2] < 1000:
            del edges[-2]
        mark = "" if generation == 1 else "-g00002"
        for number, start in enumerate(edges[:-1]):
            name = f"tokens_{split}_{number + (split == 'train'):06d}{mark}.bin"
            found[name] = stream[start : edges[number + 1]]
    return [found[name] for name in sorted(found)]


def steps(ids: list[np.ndarray]) -> list[np.ndarray]:
    """The steps of an epoch over all ranks: in every shard as many as are whole, each with the id after it."""
    return [shard[at : at + STEP + 1] for shard in ids for at in range(0, len(shard) - STEP, STEP)]


def c_loader(program: Path, pattern: Path, rank: int, batches: int) -> subprocess.CompletedProcess[bytes]:
    numbers = [str(number) for number in (B, T, rank, RANKS, batches)]
    return subprocess.run([program, pattern, *numbers], capture_output=True, check=False)


checked = refused = llama = equal = 0
writer, loader = module("dev/data/data_common.py"), module("train_llama3.py")
with tempfile.TemporaryDirectory() as folder:
    program = Path(folder) / "windows"
    source = Path(__file__).with_name("llmc_windows.c")
    subprocess.run(["cc", "-O2", "-w", "-I", root, "-o", program, source, "-lm"], check=True)
    for expected in data_sets():
        for split in ("train", "val"):
            pattern = expected.output / "llmc" / f"tokens_{split}_*.bin"
            ids = shards(expected, split)
            paths = sorted(pattern.parent.glob(pattern.name))
            for path, shard in zip(paths, ids, strict=True):
                own = Path(folder) / "own.bin"
                with contextlib.redirect_stdout(io.StringIO()):
                    writer.write_datafile(str(own), shard.tolist(), "llama-3" if expected.wide else "gpt-2")
                assert path.read_bytes() == own.read_bytes(), path
                equal += 1
            if expected.wide:
                made = c_loader(program, pattern, 0, 1)
                assert b"Bad magic" in made.stdout, "it would read uint32 as uint16"
                refused += 1
                with contextlib.redirect_stdout(io.StringIO()):
                    batches = loader.DistributedShardedDataLoader(str(pattern), B * RANKS, T, 0, 1)
                for step in steps(ids):
                    x, y = batches.next_batch()
                    assert np.array_equal((x.numpy().ravel(), y.numpy().ravel()), (step[:-1], step[1:]))
                    llama += 1
            for rank in [] if expected.wide else range(RANKS):
                start, stop = rank * B * T, (rank + 1) * B * T
                wanted = [(step[start:stop], step[start + 1 : stop + 1]) for step in steps(ids)]
                made = c_loader(program, pattern, rank, len(wanted) + 1)
                assert made.returncode == 0, made.stdout
                read = np.frombuffer(made.stdout, "<i4").reshape(-1, 2, B * T)
                assert np.array_equal(read, [*wanted, wanted[0]])  # the next epoch begins again
                checked += len(read)
done("llmc", batches=checked, uint32_refused=refused, batches_of_llama_3=llama, files_equal_to_its_own=equal)
