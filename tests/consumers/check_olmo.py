"""The data sets of OLMo and of OLMo-core, against our parts and label masks; the settings are those that stand beside
them."""

import itertools
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
import yaml
from expected import Expected, data_sets, done, generations
from olmo.data.collator import DataCollator, PaddingDirection
from olmo.data.memmap_dataset import MemMapDataset
from olmo.data.util import find_periodic_sequences
from olmo_core.data import NumpyDatasetDType, NumpyFSLDatasetConfig, NumpyPaddedFSLDatasetConfig, TokenizerConfig
from olmo_core.data.types import LongDocStrategy
from olmo_core.data.utils import get_labels, iter_document_indices, pack_documents_into_instances

LENGTH = 64
IGNORED = -100

Part = list[list[int]]


def learned(ids: np.ndarray) -> np.ndarray:
    """What OLMo's own search leaves: no id of 32 or more repeats of up to 13."""
    found = np.ones(len(ids), bool)
    for run in find_periodic_sequences(ids, max_period=13):
        if run.times >= 32:
            found[run.start : run.end] = False
    return found


def windows(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Whole windows of each part."""
    return [found[at : at + LENGTH] for found in arrays for at in range(0, len(found) - LENGTH + 1, LENGTH)]


def padded(values: np.ndarray, filler: int) -> list[int]:
    return [*values.tolist(), *[filler] * LENGTH][:LENGTH]


def check_documents(paths: list[str], parts: list[Part], expected: Expected, dtype: NumpyDatasetDType) -> int:
    """Boundaries by array and by the index beside it."""
    for path, part in zip(paths, parts, strict=True):
        wanted = list(itertools.pairwise(np.cumsum([0, *map(len, part)]).tolist()))
        own = {"dtype": dtype.as_np_dtype(), "eos_token_id": expected.eot}
        assert list(iter_document_indices(path, use_array_if_local=True, **own)) == wanted
        assert list(iter_document_indices(path, use_array_if_local=False, **own)) == wanted
    return sum(map(len, parts))


def check_core(common: dict, parts: list[Part], masks: list[np.ndarray], expected: Expected) -> int:
    """Every instance of the FSL and of the padded data set of OLMo-core, and the labels that it makes of them."""
    data = NumpyFSLDatasetConfig(**common, generate_doc_lengths=True).build()
    data.prepare()
    ids = windows([np.concatenate([np.array(document) for document in part]) for part in parts])
    assert len(data) == len(ids)
    for number, (window, mask) in enumerate(zip(ids, windows(masks), strict=True)):
        item = data[number]
        assert item["input_ids"].tolist() == window.tolist()
        assert item["label_mask"].tolist() == mask.tolist()
        labels = get_labels({name: item[name][None] for name in ("input_ids", "label_mask")}, IGNORED)
        wanted = np.where(mask, window, IGNORED)[1:]  # it adds one more at the end
        assert labels[0][: LENGTH - 1].tolist() == wanted.tolist()
        cuts = [0, *(np.flatnonzero(window == expected.eot) + 1).tolist(), LENGTH]
        assert item["doc_lens"].tolist() == [size for size in np.diff(cuts).tolist() if size]
    data = NumpyPaddedFSLDatasetConfig(**common).build()
    data.prepare()
    whole = [np.array(document) for part in parts for document in part]
    kept = [piece for mask, part in zip(masks, parts, strict=True) for piece in np.split(mask, ends(part))]
    assert len(data) == len(whole) == len(kept)
    for number, (document, mask) in enumerate(zip(whole, kept, strict=True)):
        assert data[number]["input_ids"].tolist() == padded(document, expected.eot)
        assert data[number]["label_mask"].tolist() == padded(mask, 0)
    return len(ids) + len(whole)


def ends(part: Part) -> np.ndarray:
    """Where its documents but the last end."""
    return np.cumsum([*map(len, part)])[:-1]


def check_olmo(settings: dict, parts: list[Part], masks: list[np.ndarray], expected: Expected) -> int:
    """Every instance of OLMo's ``MemMapDataset``, collated as its trainer does."""
    data = MemMapDataset(
        *settings["paths"],
        chunk_size=LENGTH,
        memmap_dtype=np.dtype(settings["memmap_dtype"]).type,
        generate_attention_mask=settings["generate_attention_mask"],
        pad_token_id=expected.eot,
        eos_token_id=expected.eot,
        label_mask_paths=settings["label_mask_paths"],
    )
    ids = windows([np.concatenate([np.array(document) for document in part]) for part in parts])
    assert len(data) == len(ids)
    collate = DataCollator(pad_direction=PaddingDirection.right, pad_token_id=expected.eot)
    for number, (window, mask) in enumerate(zip(ids, windows(masks), strict=True)):
        batch = collate([data[number]])
        assert batch["input_ids"][0].tolist() == window.tolist()
        assert batch["label_mask"].dtype == torch.bool
        assert batch["label_mask"][0].tolist() == mask.tolist()
    return len(ids)


def check_rows(expected: Expected, strategy: LongDocStrategy, folder: Path) -> int:
    """Rows of ``best_fit_decreasing`` against OLMo-core's packing of the same documents: as many, as full."""
    rows = 0
    for split in ("train", "val"):
        path = folder / f"{split}.npy"
        expected.stream(1, split).astype("<u2").tofile(path)
        table = pq.read_table(expected.output / "parquet_rows" / f"{split}-00000.parquet")
        instances, indices, tokens = pack_documents_into_instances(
            path,
            max_sequence_length=len(table["ids"][0]),
            eos_token_id=expected.eot,
            dtype=np.uint16,
            long_doc_strategy=strategy,
        )
        sizes = (indices[:, 1] - indices[:, 0]).tolist()
        filled = [row_ends[-1] for row_ends in table["ends"].to_pylist()]
        assert sorted(sum(sizes[number] for number in instance) for instance in instances) == sorted(filled)
        assert sum(filled) == tokens
        pieces = [size for row in table["ends"].to_pylist() for size in np.diff([0, *row]).tolist()]
        assert sorted(pieces) == sorted(sizes)
        rows += len(filled)
    return rows


def check_talks(root: Path, work: str) -> int:
    """Conversations by OLMo-core's document lengths, with what it makes of their masks."""
    section = yaml.safe_load((root / "talks" / "olmo-core.yaml").read_text())["dataset"]
    tokenizer, dtype = TokenizerConfig(**section.pop("tokenizer")), NumpyDatasetDType(section.pop("dtype"))
    data = NumpyFSLDatasetConfig(
        **section, tokenizer=tokenizer, dtype=dtype, work_dir=work, generate_doc_lengths=True
    ).build()
    data.prepare()
    found = []
    for number in range(len(data)):
        item = data[number]
        pairs = list(zip(item["input_ids"].tolist(), item["label_mask"].tolist(), strict=True))
        assert len(pairs) == section["sequence_length"]
        stops = np.cumsum(item["doc_lens"].tolist()).tolist()
        found += [pairs[start:stop] for start, stop in itertools.pairwise([0, *stops])]
    padding = [(tokenizer.eos_token_id, False)]
    wanted = json.loads((root / "talks.json").read_text())
    assert sorted(pairs for pairs in found if pairs != padding) == sorted(
        [tuple(pair) for pair in talk] for talk in wanted
    )
    return len(wanted)


instances = documents = hidden = of_olmo = rows = 0
for expected in data_sets():
    folder = expected.output / "olmo"
    core = yaml.safe_load((folder / "olmo-core-g00002.yaml").read_text())["dataset"]
    own = yaml.safe_load((folder / "olmo-g00002.yaml").read_text())["data"]
    dtype = NumpyDatasetDType(core["dtype"])
    for split in ("train", "val"):
        found = generations(list((folder / split).glob("*.npy")), expected)
        paths = [str(path) for files in found for path in files]
        masks = [str(folder / "label_masks" / split / Path(path).name) for path in paths]
        if split == "train":
            for settings in (core, own):
                assert (settings["paths"], settings["label_mask_paths"]) == (paths, masks)
        parts = [part for files in found for part in expected.parts(files, split)]
        wanted = [learned(np.concatenate([np.array(document) for document in part])) for part in parts]
        for path, mask in zip(masks, wanted, strict=True):
            assert Path(path).read_bytes() == mask.tobytes(), path
            hidden += int(np.count_nonzero(~mask))
        documents += check_documents(paths, parts, expected, dtype)
        with tempfile.TemporaryDirectory() as work:
            common = {
                "tokenizer": TokenizerConfig(**core["tokenizer"]), "dtype": dtype, "paths": paths,
                "label_mask_paths": masks, "work_dir": work, "sequence_length": LENGTH,
            }  # fmt: skip
            instances += check_core(common, parts, wanted, expected)
        of_olmo += check_olmo({**own, "paths": paths, "label_mask_paths": masks}, parts, wanted, expected)
with tempfile.TemporaryDirectory() as work:
    talks = check_talks(Path(sys.argv[1]), work)
    for strategy in LongDocStrategy:
        rows += check_rows(Expected(Path(sys.argv[1]) / strategy.value), strategy, Path(work))
done(
    "olmo",
    documents=documents,
    instances_of_core=instances,
    instances_of_olmo=of_olmo,
    ids_hidden=hidden,
    rows_of_core=rows,
    conversations=talks,
)
