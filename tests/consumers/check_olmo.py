"""OLMo-core's data sets, against our parts; the settings are those that stand beside them."""

import itertools
import tempfile

import numpy as np
import yaml
from expected import data_sets, done, generations
from olmo_core.data import NumpyDatasetDType, NumpyFSLDatasetConfig, NumpyPaddedFSLDatasetConfig, TokenizerConfig
from olmo_core.data.utils import iter_document_indices

LENGTH = 64

instances = documents = 0
for expected in data_sets():
    settings = yaml.safe_load((expected.output / "olmo" / "olmo-core-g00002.yaml").read_text())["dataset"]
    dtype = NumpyDatasetDType(settings["dtype"])
    for split in ("train", "val"):
        found = generations(list((expected.output / "olmo" / split).glob("*.npy")), expected)
        paths = [str(path) for files in found for path in files]
        if split == "train":
            assert settings["paths"] == paths
        parts = [part for files in found for part in expected.parts(files, split)]
        for path, part in zip(paths, parts, strict=True):
            ends = np.cumsum([0, *map(len, part)]).tolist()
            wanted = list(itertools.pairwise(ends))
            own = {"dtype": dtype.as_np_dtype(), "eos_token_id": expected.eot}
            assert list(iter_document_indices(path, use_array_if_local=True, **own)) == wanted
            assert list(iter_document_indices(path, use_array_if_local=False, **own)) == wanted
            documents += len(wanted)
        with tempfile.TemporaryDirectory() as work:
            common = {
                "tokenizer": TokenizerConfig(**settings["tokenizer"]), "dtype": dtype, "paths": paths,
                "work_dir": work, "sequence_length": LENGTH,
            }  # fmt: skip
            data = NumpyFSLDatasetConfig(**common, generate_doc_lengths=True).build()
            data.prepare()
            wanted = []
            for part in parts:
                ids = np.concatenate([np.array(document) for document in part])
                wanted += [ids[at : at + LENGTH] for at in range(0, len(ids) - LENGTH + 1, LENGTH)]
            assert len(data) == len(wanted)
            for number, ids in enumerate(wanted):
                item = data[number]
                assert item["input_ids"].tolist() == ids.tolist()
                cuts = [0, *(np.flatnonzero(ids == expected.eot) + 1).tolist(), LENGTH]
                assert item["doc_lens"].tolist() == [size for size in np.diff(cuts).tolist() if size]
                instances += 1
            data = NumpyPaddedFSLDatasetConfig(**common).build()
            data.prepare()
            whole = [document for part in parts for document in part]
            assert len(data) == len(whole)
            for number, ids in enumerate(whole):
                row = data[number]["input_ids"].tolist()
                assert row == (ids + [expected.eot] * LENGTH)[:LENGTH]
                instances += 1
done("olmo", documents=documents, instances=instances)
