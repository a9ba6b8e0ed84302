"""Trainers that are no packages: their loaders' own steps, in numpy and pyarrow, against our files.

nanoGPT maps raw uint16; build-nanogpt calls ``numpy.load`` on files by the split in their names; llm.c checks a header
and the exact size; nanochat lists parquet files, the last one for validation, and deals row groups to ranks.
"""

import itertools

import numpy as np
import pyarrow.parquet as pq
from expected import data_sets, done, generations

ids = texts = documents = 0
for expected in data_sets():
    kind = np.uint32 if expected.wide else np.uint16
    for split in ("train", "val"):
        if not expected.wide:
            found = np.memmap(expected.output / "nanogpt" / f"{split}.bin", np.uint16, "r")
            assert (found == expected.stream(1, split)).all()
            ids += len(found)
        magic = (20240801, 7) if expected.wide else (20240520, 1)
        shards = list((expected.output / "llmc").glob(f"tokens_{split}_*.bin"))
        for number, files in enumerate(generations(shards, expected), 1):
            loaded = []
            for path in files:
                header = np.fromfile(path, "<i4", 256)
                assert (header[0], header[1]) == magic
                assert not header[3:].any()
                assert path.stat().st_size == 1024 + header[2] * np.dtype(kind).itemsize
                loaded.append(np.fromfile(path, kind, offset=1024))
            assert all(len(shard) == 10_000 for shard in loaded[:-1])
            assert (np.concatenate(loaded) == expected.stream(number, split, "prepend")).all()
            ids += sum(map(len, loaded))
        if not expected.wide:
            names = [path for path in (expected.output / "build_nanogpt").iterdir() if split in path.name]
            for number, files in enumerate(generations(names, expected), 1):
                loaded = [np.load(path) for path in files]
                assert {shard.dtype for shard in loaded} == {np.dtype(np.uint16)}
                assert (np.concatenate(loaded) == expected.stream(number, split, "prepend")).all()
                ids += sum(map(len, loaded))
        shards = list((expected.output / "shard_idx" / split).glob("*.bin"))
        for files in generations(shards, expected):
            for path, part in zip(files, expected.parts(files, split), strict=True):
                offsets, found = np.fromfile(path.with_suffix(".idx"), "<u8"), np.fromfile(path, kind)
                assert [found[a:b].tolist() for a, b in itertools.pairwise(offsets)] == part
                documents += len(part)
    for number in (1, 2):
        folder = expected.output / "nanochat_text" / ("" if number == 1 else "g00002")
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".parquet")
        assert len(paths) > 1
        for files, split in ((paths[:-1], "train"), (paths[-1:], "val")):
            read = {}
            for place, path in enumerate(files):
                file = pq.ParquetFile(path)
                assert max(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)) <= 1024
                for rank in range(4):
                    groups = range(rank, file.num_row_groups, 4)
                    assert len(groups) > 0, "a rank would wait for ever"
                    for group in groups:
                        read[place, group] = file.read_row_group(group)["text"].to_pylist()
            wanted = expected.generations[number - 1][f"{split}_texts"]
            assert [text for key in sorted(read) for text in read[key]] == wanted
            texts += len(wanted)
done("nanogpt, build_nanogpt, llmc, shard_idx, nanochat_text", ids=ids, documents=documents, texts=texts)
