"""Folders laid out like data sets of a hub."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CARD = """---
license: mit
configs:
- config_name: en
  data_files:
  - {split: train, path: "english/*.jsonl"}
  - {split: validation, path: held/v.jsonl}
- config_name: de
  data_files: "german/*.jsonl.gz"
---
# Anything
"""
"""A README that names configurations and splits."""


def texts(name: str, count: int = 3) -> list[str]:
    return [f"{name} {number}" for number in range(count)]


def write(path: Path, values: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": values, "id": [f"{path.name}-{value}" for value in values]}), path)
    elif path.suffix == ".csv":
        path.write_text("id,text\n" + "".join(f'{n},"{value}"\n' for n, value in enumerate(values)))
    elif path.suffix == ".json":
        path.write_text(json.dumps([{"text": value} for value in values], indent=1))
    elif path.suffix == ".txt":
        path.write_text("".join(value + "\n" for value in values))
    else:
        path.write_text("".join(json.dumps({"text": value, "n": {"m": 1}}) + "\n" for value in values))


def plain(folder: Path, files: int = 12, count: int = 3) -> Path:
    """A data set without a README, as ``push_to_hub`` names files."""
    for number in range(files):
        name = f"train-{number:05d}-of-{files:05d}.parquet"
        write(folder / "data" / name, texts(f"{folder.name} {number}", count))
    write(folder / "data" / "test-00000-of-00001.parquet", texts("test"))
    return folder
