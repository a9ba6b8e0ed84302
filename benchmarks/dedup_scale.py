"""Time, memory and disk of the search for duplicates, on made-up signatures of millions of documents.

    python benchmarks/dedup_scale.py [--documents 200000,1000000,5000000] [--memory 2GB]

Signatures are written as ``sign`` writes them, by its own code, in pieces of 250,000 documents: 70 % of them are alone,
the others in clusters of 2 or 3, of 10 to 1,000, and one of 1 % of all. Then the stages run as in the flow, two
processes at once, each call in a process of its own. CPU seconds are the sum over the calls, without the start of the
process; peaks are those of the largest call: all resident memory, and in brackets what is its own and not a page of a
mapped file. With less ``--memory`` a search holds fewer keys, as if the corpus were larger by that factor. The row
``write`` is the cost of making the signatures up, not of signing text.
"""

import argparse
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from gristmill import config as configuration
from gristmill import ledger
from gristmill.columns import strings
from gristmill.config import PrepareConfig
from gristmill.dedup._permutations import band_keys
from gristmill.dedup.base import Dedup, Signatures
from gristmill.dedup.minhash import MinHash
from gristmill.stages.dedup import find as finding
from gristmill.stages.dedup.decide import decide, places_to_name
from gristmill.stages.dedup.list_duplicates import name_copies
from gristmill.stages.dedup.sign import EXCERPT_CHARACTERS, NAMES, _Kind
from gristmill.stages.ingest._arrow import DocumentWriter
from gristmill.storage import disk
from gristmill.types import StageReport, Value

PIECE = 250_000
BATCH = 1000
WORKERS = 2
EDITS = (0.0, 0.03, 0.25)
"""Share of the signature that an edit changes, by cluster: copies, near copies, and pairs that are not confirmed."""


class Cost(Value, frozen=True, kw_only=True):
    """What one call took."""

    cpu: float
    peak: int
    """Bytes resident at most."""
    own: int
    """Bytes of it that are no page of a file, sampled 50 times a second."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", default="200000,1000000,5000000", help="numbers of documents, one run each")
    parser.add_argument("--work", type=Path, help="folder for the files (default: the temporary folder)")
    parser.add_argument("--memory", default="2GB", help="what a worker may take: execution.memory")
    chosen = parser.parse_args()
    for documents in map(int, chosen.documents.split(",")):
        with tempfile.TemporaryDirectory(dir=chosen.work, prefix="dedup-scale-") as folder:
            scale(documents, folder, chosen.memory)
    for pieces in (1000, 10_000):
        reports(pieces)


def scale(documents: int, folder: str, memory: str) -> None:
    """Run the stages over so many documents and print a row for each."""
    settings = {"dedup": [{"kind": "exact"}, {"kind": "minhash"}], "execution": {"work": folder, "memory": memory}}
    config = configuration.parse(settings)
    print(f"\n{documents:,} documents")
    print(f"  {'':8}{'calls':>6}{'wall s':>9}{'CPU s':>9}{'CPU s per M':>13}{'peak MB':>9}{'(own)':>8}{'disk MB':>10}")
    sizes = [min(PIECE, documents - first) for first in range(0, documents, PIECE)]
    clusters = Path(folder) / "clusters.npy"
    np.save(clusters, clusters_of(documents))
    makes = [{"number": number, "size": size, "clusters": str(clusters)} for number, size in enumerate(sizes)]
    signed = staged("write", documents, synthetic, [{**call, "config": config} for call in makes])
    priorities, common = [0] * len(signed), {"signed": signed, "config": config}
    planned = finding.searches(signed, config)
    found = staged(
        "find", documents, finding.find, [{"search": search, "priorities": priorities, **common} for search in planned]
    )
    judged = {"kinds": [search.kind for search in planned], "priorities": priorities}
    decided = staged("decide", documents, decide, [{"found": found, **judged, "own": len(signed), **common}])[0]
    places = places_to_name(decided)
    staged("name", documents, name_copies, [{"place": place, "decided": decided, **common} for place in places])
    candidates, edges = (sum(report.details[what] for report in found) for what in ("candidates", "confirmed"))
    print(f"  {len(planned)} searches, {candidates:,} candidates, {edges:,} confirmed;", end=" ")
    print(f"dropped {sum(decided.dropped.values()):,}: {decided.dropped}", flush=True)


def staged(
    stage: str, documents: int, function: Callable[..., StageReport], calls: list[dict[str, Any]]
) -> list[StageReport]:
    """The reports of all calls, ``WORKERS`` at once; prints the row."""
    start = time.perf_counter()
    with ProcessPoolExecutor(WORKERS, get_context("spawn"), max_tasks_per_child=1) as pool:
        done = list(pool.map(measured, [function] * len(calls), calls))
    wall = time.perf_counter() - start
    found, costs = [report for report, _ in done], [cost for _, cost in done]
    cpu, disk = sum(cost.cpu for cost in costs), sum(file.nbytes for each in found for file in each.artifacts.values())
    peak, own = max(cost.peak for cost in costs), max(cost.own for cost in costs)
    print(f"  {stage:8}{len(calls):6}{wall:9.1f}{cpu:9.1f}{cpu / documents * 1e6:13.2f}", end="")
    print(f"{peak / 1e6:9.0f}{f'({own / 1e6:.0f})':>8}{disk / 1e6:10.1f}", flush=True)
    return found


def measured(function: Callable[..., StageReport], arguments: dict[str, Any]) -> tuple[StageReport, Cost]:
    """Run in a process of its own."""
    done, own = threading.Event(), [0]

    def watch() -> None:
        while not done.wait(0.02):
            own[0] = max(own[0], resident("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.process_time()
    report = function(**arguments)
    cpu = time.process_time() - start
    done.set()
    watcher.join()
    return report, Cost(cpu=cpu, peak=resident("VmHWM"), own=own[0])


def resident(what: str) -> int:
    """Bytes, by the kernel's count. (``ru_maxrss`` of a spawned process starts with the memory of its parent.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{what}:"))


def clusters_of(documents: int) -> np.ndarray:
    """The cluster of each document; documents of a cluster are spread over all pieces."""
    draw = np.random.default_rng(7)
    few = draw.integers(2, 4, int(0.2 * documents / 2.5))
    many = np.exp(draw.uniform(np.log(10), np.log(1000), int(0.09 * documents / 215))).astype(np.int64)
    sizes = np.concatenate([[documents // 100], many, few])
    sizes = np.concatenate([sizes, np.ones(documents - sizes.sum(), np.int64)])
    found = np.empty(documents, np.int64)
    found[draw.permutation(documents)] = np.repeat(np.arange(len(sizes)), sizes)
    return found


def synthetic(number: int, size: int, clusters: str, config: PrepareConfig) -> StageReport:
    """A piece as ``sign`` leaves it."""
    mine = np.load(clusters, mmap_mode="r")[number * PIECE : number * PIECE + size]

    def produce(folder: Path, key: str) -> StageReport:
        kinds = {place: _Kind(kind, folder / str(place)) for place, kind in enumerate(config.dedup)}  # type: ignore[arg-type]
        ids = DocumentWriter(folder / "ids", "plain")
        with disk.Writer(folder / "characters") as lengths, disk.Writer(folder / "content") as content:
            for first in range(0, size, BATCH):
                rows = np.arange(number * PIECE + first, number * PIECE + min(first + BATCH, size))
                part = mine[first : first + BATCH]
                ids.write(batch_of_ids(rows))
                lengths.write(np.full(len(rows), 4000, "<i8").tobytes())
                content.write(mixed(rows.astype(np.uint64)).tobytes())
                for kind in kinds.values():
                    kind.add(signatures(kind.plugin, part, rows), np.ones(len(rows), bool))
        artifacts = {"characters": lengths.artifact, "content": content.artifact, "ids": ids.close(NAMES)}
        for place, kind in kinds.items():
            artifacts |= {f"{place}.{ending}": artifact for ending, artifact in kind.close().items()}
        return StageReport(
            stage="sign",
            shard=number,
            fingerprint=key,
            docs_in=size,
            docs_out=size,
            chars_in=4000 * size,
            chars_out=4000 * size,
            artifacts=artifacts,
            details={"valid": [kind.valid for kind in kinds.values()], "recalled": False},
        )

    return ledger.run(config.execution.work, "sign", number, {"number": number}, produce)


def batch_of_ids(rows: np.ndarray) -> pa.RecordBatch:
    """Ids of 24 bytes."""
    ids = strings([f"document-{row:015d}" for row in rows.tolist()])
    return pa.record_batch([ids, strings(["x" * EXCERPT_CHARACTERS] * len(rows))], schema=NAMES)


def signatures(plugin: Dedup, clusters: np.ndarray, rows: np.ndarray) -> Signatures:
    """Those of an edited copy of the text of each document's cluster."""
    every = np.ones(len(rows), bool)
    share = np.array(EDITS)[clusters % len(EDITS)]
    original = mixed(clusters.astype(np.uint64))
    chance = mixed(rows.astype(np.uint64) + np.uint64(1 << 40))
    if not isinstance(plugin, MinHash):
        keys = np.where(chance % 2 == 0, original, chance)[:, None]  # every second one is the text itself
        return Signatures(bands=keys, check=mixed(keys), valid=every)
    columns = np.arange(plugin.num_perm, dtype=np.uint64) << np.uint64(44)
    values = mixed(original[:, None] + columns)
    other = mixed(chance[:, None] + columns)
    edited = ((other >> np.uint64(40)) / 2**24 < share[:, None]) & (chance % 2 == 1)[:, None]
    found = np.where(edited, other, values).astype(np.uint32)
    return Signatures(
        bands=band_keys(found, *plugin.banding()), check=found.astype(plugin.check_dtype().base), valid=every
    )


def mixed(values: np.ndarray) -> np.ndarray:
    """uint64 that look drawn at random (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: np.ndarray = values ^ (values >> np.uint64(31))
    return found


def reports(pieces: int) -> None:
    """What it costs to hand the reports of so many pieces to a worker process."""
    with tempfile.TemporaryDirectory(prefix="dedup-scale-") as folder:
        np.save(f"{folder}/clusters.npy", np.arange(10))
        config = configuration.parse(
            {"dedup": [{"kind": "exact"}, {"kind": "minhash"}], "execution": {"work": f"{folder}/work"}}
        )
        report = synthetic(0, 10, f"{folder}/clusters.npy", config)
        shutil.rmtree(f"{folder}/work")
    many = [msgspec.structs.replace(report, shard=number) for number in range(pieces)]
    start = time.perf_counter()
    data = msgspec.json.encode({"signed": many})
    middle = time.perf_counter()
    msgspec.convert(msgspec.json.decode(data)["signed"], list[StageReport])
    end = time.perf_counter()
    print(f"\n{pieces:,} reports as an argument: {len(data) / 1e6:.1f} MB of JSON,", end=" ")
    print(f"encoded in {(middle - start) * 1e3:.0f} ms, decoded in {(end - middle) * 1e3:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
