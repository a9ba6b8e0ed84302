"""``datasets.load_dataset``, against our folder."""

import tempfile

from datasets import disable_progress_bars, load_dataset
from expected import data_sets, done

disable_progress_bars()

rows = 0
for expected in data_sets():
    with tempfile.TemporaryDirectory() as cache:
        data = load_dataset(str(expected.output / "huggingface"), cache_dir=cache)
        assert sorted(data) == ["train", "validation"]
        for split, name in (("train", "train"), ("val", "validation")):
            wanted = [ids for generation in (1, 2) for ids in expected.documents(generation, split)]
            found = data[name]["input_ids"]
            assert sorted(map(tuple, found)) == sorted(map(tuple, wanted))
            rows += len(wanted)
done("huggingface", rows=rows)
