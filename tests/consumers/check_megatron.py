"""Megatron's IndexedDataset, its builder and its GPTDataset, against our files."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from expected import data_sets, done
from megatron.core.datasets.blended_megatron_dataset_config import BlendedMegatronDatasetConfig  # noqa: F401
from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
from megatron.core.datasets.indexed_dataset import DType, IndexedDataset, IndexedDatasetBuilder
from megatron.core.datasets.utils import Split

LENGTH = 64


class Tokens:
    """What GPTDataset asks of a tokenizer."""

    def __init__(self, eot: int) -> None:
        self.eod, self.pad, self.vocab_size = eot, eot + 1, eot + 2
        self.unique_identifiers = {"class": "Tokens"}


documents = equal = windows = 0
for expected in data_sets():
    for split in ("train", "val"):
        for generation, name in enumerate((f"{split}_text_document", f"{split}_text_document-g00002"), 1):
            prefix = str(expected.output / "megatron" / name)
            wanted = expected.documents(generation, split)
            data = IndexedDataset(prefix)  # kept: what it gives are views of its mapping
            assert len(data) == len(wanted)
            assert data.document_indices.tolist() == list(range(len(wanted) + 1))
            assert data.index.dtype == DType.optimal_dtype(expected.vocab_size)
            for number, ids in enumerate(wanted):
                assert data[number].copy().tolist() == ids
                documents += 1
            with tempfile.TemporaryDirectory() as folder:
                builder = IndexedDatasetBuilder(f"{folder}/x.bin", dtype=DType.optimal_dtype(expected.vocab_size))
                for ids in wanted:
                    builder.add_document(torch.tensor(ids), [len(ids)])
                builder.finalize(f"{folder}/x.idx")
                for suffix in (".bin", ".idx"):
                    assert Path(f"{prefix}{suffix}").read_bytes() == Path(f"{folder}/x{suffix}").read_bytes()
                    equal += 1
                config = GPTDatasetConfig(
                    random_seed=5, sequence_length=LENGTH, blend=([prefix], None), split="1,0,0",
                    path_to_cache=folder, reset_position_ids=False, reset_attention_mask=False, eod_mask_loss=False,
                    tokenizer=Tokens(expected.eot), mid_level_dataset_surplus=0.005,
                )  # fmt: skip
                made = GPTDataset(data, prefix, np.arange(len(wanted), dtype=np.int32), None, Split.train, config)
                order = made.document_index.tolist()
                assert sorted(order) == list(range(len(wanted)))
                stream = np.concatenate([np.array(wanted[number]) for number in order])
                assert len(made) == (len(stream) - 1) // LENGTH
                starts = {stream[at : at + LENGTH + 1].tobytes() for at in range(0, len(stream) - LENGTH, LENGTH)}
                for item in made:
                    window = np.append(item["tokens"].numpy(), item["labels"].numpy()[-1]).astype(stream.dtype)
                    assert window.tobytes() in starts
                    assert (item["labels"][:-1] == item["tokens"][1:]).all()
                    windows += 1
done("megatron", documents=documents, files_equal_to_its_own=equal, windows_of_GPTDataset=windows)
