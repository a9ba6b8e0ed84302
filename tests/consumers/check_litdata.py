"""litdata's writer and StreamingDataset, against our chunks."""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from expected import data_sets, done
from litdata import StreamingDataset, TokensLoader
from litdata.streaming.writer import BinaryWriter

LENGTH = 64

blocks = equal = 0
for expected in data_sets():
    for generation in (1, 2):
        for split in ("train", "val"):
            folder = expected.output / "litdata" / ("" if generation == 1 else "g00002") / split
            files = sorted(folder.glob("*.bin"), key=lambda path: int(path.stem.rpartition("-")[2]))
            parts = expected.parts(files, split)
            index = json.loads((folder / "index.json").read_text())
            assert [chunk["filename"] for chunk in index["chunks"]] == [path.name for path in files]
            for path, documents, chunk in zip(files, parts, index["chunks"], strict=True):
                with tempfile.TemporaryDirectory() as own:
                    writer = BinaryWriter(own, chunk_bytes=1 << 26, item_loader=TokensLoader(LENGTH))
                    for number, ids in enumerate(documents):
                        writer.add_item(number, torch.tensor(ids, dtype=torch.int32))
                    writer.done()
                    writer.merge()
                    said = json.loads(Path(own, "index.json").read_text())
                    assert path.read_bytes() == Path(own, said["chunks"][0]["filename"]).read_bytes()
                    assert {**said["chunks"][0], "filename": path.name} == chunk
                    assert said["config"] == index["config"]
                    equal += 1
            data = StreamingDataset(str(folder), item_loader=TokensLoader(LENGTH), shuffle=False)
            wanted = []
            for documents in parts:
                ids = np.concatenate([np.array(document) for document in documents])
                wanted += [ids[at : at + LENGTH] for at in range(0, len(ids) - LENGTH + 1, LENGTH)]
            assert len(data) == len(wanted)
            for number, ids in enumerate(wanted):
                assert data[number].tolist() == ids.tolist()
                blocks += 1
done("litdata", blocks=blocks, chunks_equal_to_its_own=equal)
