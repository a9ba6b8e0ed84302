"""tokbin build, on plain JSON Lines: it reads no compressed files. It takes as many cores as there are.

PEER/bin/python benchmarks/peers/tokbin_build.py INPUT_FOLDER OUTPUT_FOLDER TOKENIZER_JSON WORKERS
"""

import os
import sys
from pathlib import Path


def main(source: str, output: str, tokenizer: str) -> None:
    command = str(Path(sys.executable).with_name("tokbin"))
    target = f"{output}/corpus"
    os.execv(command, [command, "build", target, "--from-jsonl", source, "--tokenizer", tokenizer])


if __name__ == "__main__":
    main(*sys.argv[1:4])
