"""OLMo's parts and their document index."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import yaml
from streams import Documents, put, record

from gristmill.errors import ConfigError
from gristmill.formats.olmo import Olmo

DOCUMENTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 11], [12, 13]]


def test_no_document_crosses_two_parts(tmp_path: Path) -> None:
    """OLMo-core drops what stands after a part's last EOS, and OLMo's own script loses the overflow at every edge."""
    put(tmp_path, Olmo(max_tokens=7), {"train": Documents(DOCUMENTS)})
    parts = [np.fromfile(tmp_path / "train" / f"part-{number:05d}.npy", "<u2").tolist() for number in range(3)]
    assert parts == [[1, 2, 3, 0, 4, 0], [5, 6, 7, 8, 9, 10, 11, 0], [12, 13, 0]]


def test_the_index_is_one_of_dolma(tmp_path: Path) -> None:
    """``end`` is exclusive, lines end in CRLF, and a part starts at 0 again."""
    put(tmp_path, Olmo(max_tokens=7), {"train": Documents(DOCUMENTS)})
    found = [gzip.decompress((tmp_path / "train" / f"part-{number:05d}.csv.gz").read_bytes()) for number in range(3)]
    assert found[0] == b"0,4,0,shard-00007\r\n4,6,1,shard-00007\r\n"
    assert found[1:] == [b"0,8,0,shard-00007\r\n", b"0,3,0,shard-00007\r\n"]


def test_the_settings_find_documents(tmp_path: Path) -> None:
    """With a BOS in the tokenizer section OLMo-core finds no document at all; paths must be absolute."""
    put(tmp_path, Olmo(max_tokens=7), {"train": Documents(DOCUMENTS), "val": Documents(DOCUMENTS)})
    core = yaml.safe_load((tmp_path / "olmo-core.yaml").read_text())["dataset"]
    assert core["tokenizer"] == {"vocab_size": 50257, "eos_token_id": 0, "pad_token_id": 0}
    assert core["dtype"] == "uint16"
    assert core["paths"] == [str(tmp_path / "train" / f"part-{number:05d}.npy") for number in range(3)]
    assert yaml.safe_load((tmp_path / "olmo.yaml").read_text())["data"]["paths"] == core["paths"]


def test_the_bytes_of_a_label_mask(tmp_path: Path) -> None:
    """A byte an id, 0 where it is not to be learned; 31 repeats stay. Inverted, a model would learn nothing else."""
    documents = [[9, *[3, 4] * 32], [5] * 31, [8], [7] * 40]
    (file,) = put(tmp_path, Olmo(label_masks="repetition"), {"train": Documents(documents)})
    mask = (tmp_path / "label_masks" / "train" / "part-00000.npy").read_bytes()
    assert mask == b"\1" + b"\0" * 64 + b"\1" + b"\1" * 32 + b"\1" * 2 + b"\0" * 40 + b"\1"
    assert len(mask) == file.tokens
    assert file.mask is not None
    assert (file.mask.path, file.mask.hidden) == ("olmo/label_masks/train/part-00000.npy", 104)


def test_the_settings_name_the_masks_in_the_order_of_the_parts(tmp_path: Path) -> None:
    """OLMo pairs both lists by place. A mask beside the parts would be trained on by whoever lists ``*.npy``."""
    put(tmp_path, Olmo(max_tokens=7, label_masks="repetition"), {"train": Documents(DOCUMENTS)})
    for name, section in (("olmo.yaml", "data"), ("olmo-core.yaml", "dataset")):
        found = yaml.safe_load((tmp_path / name).read_text())[section]
        assert found["paths"] == [str(path) for path in sorted((tmp_path / "train").glob("*.npy"))]
        assert found["label_mask_paths"] == [
            path.replace(f"{tmp_path}/", f"{tmp_path}/label_masks/") for path in found["paths"]
        ]
        assert len(found["paths"]) == 3
        for path, mask in zip(found["paths"], found["label_mask_paths"], strict=True):
            assert Path(mask).stat().st_size * 2 == Path(path).stat().st_size


def test_without_masks_none_are_named(tmp_path: Path) -> None:
    put(tmp_path, Olmo(), {"train": Documents(DOCUMENTS)})
    assert "label_mask_paths" not in (tmp_path / "olmo-core.yaml").read_text()
    assert not (tmp_path / "label_masks").exists()


def test_the_type_is_said_even_for_few_ids(tmp_path: Path) -> None:
    """OLMo-core would infer uint8 from a vocabulary of 65 and read every id as two."""
    put(tmp_path, Olmo(), {"train": Documents(DOCUMENTS)}, record(vocab_size=65))
    assert yaml.safe_load((tmp_path / "olmo-core.yaml").read_text())["dataset"]["dtype"] == "uint16"


def test_another_side_is_refused() -> None:
    with pytest.raises(ConfigError, match="eot: Input should be 'append'"):
        Olmo.parse({"eot": "prepend"})
