"""dolma tokens, the command of the Dolma toolkit.

PEER/bin/python benchmarks/peers/dolma_tokens.py INPUT_FOLDER OUTPUT_FOLDER TOKENIZER_JSON WORKERS

dolma 1.2 needs tokenizers 0.19, which knows merges as "a b" only: it gets the same tokenizer written that way.
"""

import json
import os
import sys
from pathlib import Path

EOT = "<|endoftext|>"


def main(source: str, output: str, tokenizer: str, workers: int) -> None:
    document = json.loads(Path(tokenizer).read_bytes())
    model = document["model"]
    model["merges"] = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    (eot,) = (str(token["id"]) for token in document["added_tokens"] if token["content"] == EOT)
    older = Path(output) / "tokenizer.json"
    older.write_text(json.dumps(document))
    command = str(Path(sys.executable).with_name("dolma"))
    arguments = {
        "--documents": f"{source}/*.jsonl.gz",
        "--destination": f"{output}/tokens",
        "--tokenizer.name_or_path": str(older),
        "--tokenizer.eos_token_id": eot,
        "--tokenizer.pad_token_id": eot,
        "--dtype": "uint16",
        "--processes": str(workers),
    }
    os.execv(command, [command, "tokens", *(word for pair in arguments.items() for word in pair)])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
