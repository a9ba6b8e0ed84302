"""How such a job is often written, for comparison: final names from the start, and what exists is taken for done."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

EOT = 256


def prepare(document: dict[str, Any]) -> None:
    """Tokenize every input file into one shard, then list the shards."""
    output = Path(document["output"])
    output.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.from_file(document["tokenizer"]["path"])
    for path in sorted(Path(document["sources"][0]["paths"][0]).iterdir()):
        shard = output / f"{path.name.partition('.')[0]}.bin"
        if shard.exists():
            continue
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines, shard.open("wb") as out:
            for line in lines:
                try:
                    text = json.loads(line)["text"]
                except ValueError:
                    continue
                if text:
                    ids = tokenizer.encode(text, add_special_tokens=False).ids
                    out.write(np.array([*ids, EOT], np.uint16).tobytes())
    sizes = {shard.name: shard.stat().st_size for shard in sorted(output.glob("*.bin"))}
    (output / "manifest.json").write_text(json.dumps(sizes))
