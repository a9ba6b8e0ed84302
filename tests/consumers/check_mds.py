"""MosaicML's writer and StreamingDataset, against our shards."""

import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np

# The package itself wants vision libraries; its reader and its writer do not.
package = ModuleType("streaming")
package.__path__ = [str(Path(find_spec("numpy").origin).parents[1] / "streaming")]
sys.modules["streaming"] = package
from expected import data_sets, done  # noqa: E402
from streaming.base import MDSWriter, StreamingDataset  # noqa: E402

samples = equal = 0
for expected in data_sets():
    length = expected.length
    for generation in (1, 2):
        for split in ("train", "val"):
            folder = expected.output / "mds" / ("" if generation == 1 else "g00002") / split
            stream = expected.stream(generation, split)
            table = stream[: len(stream) // length * length].reshape(-1, length).astype(np.int32)
            with tempfile.TemporaryDirectory() as own:
                with MDSWriter(columns={"tokens": "ndarray:int32"}, out=f"{own}/x", size_limit=1 << 16) as writer:
                    for row in table:
                        writer.write({"tokens": row})
                made = sorted(Path(own, "x").iterdir())
                assert [path.name for path in made] == sorted(path.name for path in folder.iterdir())
                for path in made:
                    ours = (folder / path.name).read_bytes()
                    if path.suffix == ".json":
                        assert json.loads(ours) == json.loads(path.read_bytes())
                    else:
                        assert ours == path.read_bytes()
                    equal += 1
                data = StreamingDataset(local=str(folder), shuffle=False, batch_size=1)
                assert len(data) == len(table)
                for number, row in enumerate(table):
                    assert data[number]["tokens"].tolist() == row.tolist()
                    samples += 1
done("mds", samples=samples, files_equal_to_its_own=equal)
