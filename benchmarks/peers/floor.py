"""The least that tokenizing takes: gunzip, JSON, exact ids, uint16 with end of text, write, in warm processes.

PYTHON benchmarks/peers/floor.py INPUT_FOLDER OUTPUT_FOLDER TOKENIZER_JSON WORKERS fastokens|gigatoken

No checks, no order, no accounting. OUTPUT_FOLDER/measured.json says the seconds from when all processes have their
tokenizer until the last file is synced, and the CPU seconds of the processes in that time.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

# Read when the libraries are imported.
os.environ.update({"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "FASTOKENS_BPE_THREADS": "1"})

import msgspec
import numpy as np
from isal import igzip

EOT = "<|endoftext|>"
READ = 1 << 20
DOCUMENTS = 1000
Encode = Callable[[list[str]], tuple[np.ndarray, np.ndarray]]


class Document(msgspec.Struct):
    """What is read of a line."""

    text: str


def fastokens_encode(path: str) -> Encode:
    import fastokens

    encoder = fastokens.Tokenizer.from_json_str(Path(path).read_text())

    def encode(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        ids, offsets = encoder.encode_batch_flat(texts, add_special_tokens=False, split_special_tokens=True)
        return np.frombuffer(ids, np.uint32), np.frombuffer(offsets, np.uint64).astype(np.int64)

    return encode


def gigatoken_encode(path: str) -> Encode:
    import gigatoken

    document = json.loads(Path(path).read_bytes())
    document["added_tokens"] = []  # text that looks like a special token is text
    encoder = gigatoken.Tokenizer.from_json(json.dumps(document))

    def encode(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        layout = encoder.encode_batch(texts, parallel=False).layout
        return np.asarray(layout.content.data), np.asarray(layout.offsets.data, np.int64)

    return encode


def batches(path: Path) -> Iterator[list[str]]:
    """The texts of a file, read by the mebibyte and cut at the last line end."""
    decoder = msgspec.json.Decoder(Document)
    rest, texts = b"", []
    with igzip.open(path) as data:
        while block := data.read(READ):
            whole, end, rest = (rest + block).rpartition(b"\n")
            texts += [document.text for document in decoder.decode_lines(whole + end)]
            while len(texts) >= DOCUMENTS:
                yield texts[:DOCUMENTS]
                texts = texts[DOCUMENTS:]
    texts += [document.text for document in decoder.decode_lines(rest)]
    if texts:
        yield texts


def with_ends(ids: np.ndarray, offsets: np.ndarray, eot: int) -> np.ndarray:
    """uint16 ids with the end of text after each document."""
    ends = offsets[1:] + np.arange(len(offsets) - 1)
    text = np.ones(len(ids) + len(ends), np.bool_)
    text[ends] = False
    found = np.full(len(text), eot, np.uint16)
    found[text] = ids
    return found


def work(encode: Encode, eot: int, files: list[Path], output: str, following: Any) -> None:
    """Files one after the other, as long as there are any."""
    while True:
        with following.get_lock():
            place = following.value
            following.value += 1
        if place >= len(files):
            return
        with (Path(output) / f"{files[place].name}.bin").open("wb") as target:
            for texts in batches(files[place]):
                target.write(with_ends(*encode(texts), eot).tobytes())
            target.flush()
            os.fsync(target.fileno())


def process(
    files: list[Path], output: str, tokenizer: str, library: str, following: Any, ready: Any, told: Any
) -> None:
    encode = {"fastokens": fastokens_encode, "gigatoken": gigatoken_encode}[library](tokenizer)
    added = json.loads(Path(tokenizer).read_bytes())["added_tokens"]
    (eot,) = (token["id"] for token in added if token["content"] == EOT)
    encode(["warm"])  # a library's first call makes its tables
    ready.wait(timeout=120)
    began, used = time.time(), time.process_time()
    work(encode, eot, files, output, following)
    told.put((began, time.time(), time.process_time() - used))


def main(source: str, output: str, tokenizer: str, workers: int, library: str) -> None:
    context = get_context("spawn")
    files = sorted(Path(source).glob("*.jsonl.gz"))
    following, ready, told = context.Value("l", 0), context.Barrier(workers), context.Queue()
    arguments = (files, output, tokenizer, library, following, ready, told)
    processes = [context.Process(target=process, args=arguments) for _ in range(workers)]
    for child in processes:
        child.start()
    for child in processes:
        child.join()
    if any(child.exitcode for child in processes):
        sys.exit("a process failed")
    began, ended, used = zip(*(told.get() for _ in processes), strict=True)
    measured = {"seconds": max(ended) - min(began), "cpu": sum(used)}
    (Path(output) / "measured.json").write_text(json.dumps(measured))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
