"""Exact and MinHash dedup plus tokens, against datatrove's MinHash plus tokens, on the same files and cores in one run.

    python -m venv PEER && PEER/bin/pip install "datatrove==0.10.1" "xxhash<4" spacy tokenizers orjson
    python benchmarks/dedup_peer.py FOLDER --tokenizer tokenizer.json --peer PEER/bin/python

FOLDER holds jsonl.gz files, at least as many as workers. Our time is from the first stage function to the manifest;
the start of Python, Prefect and its server is printed apart. The peer's is its whole process.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import yaml

ROOT = Path(__file__).resolve().parents[1]
PEER = ROOT / "benchmarks" / "peers" / "datatrove_minhash.py"


def ours(corpus: str, tokenizer: str, workers: int, folder: str) -> tuple[float, float, dict[str, int]]:
    """Start-up and working seconds of the flow, and what it dropped."""
    config = {
        "dataset": "peer",
        "sources": [{"kind": "files", "paths": [corpus], "id_key": "id"}],
        "cleaning": [],
        "dedup": [{"kind": "exact"}, {"kind": "minhash", "preset": "datatrove"}],
        "tokenizer": {"kind": "huggingface", "path": tokenizer},
        "output": f"{folder}/out",
        "execution": {"work": f"{folder}/work", "workers": workers},
    }
    path = Path(folder) / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    began = time.time()
    subprocess.run([sys.executable, str(ROOT / "flows/prepare.py"), str(path)], check=True, capture_output=True)
    starts = [
        msgspec.json.decode(report.read_bytes())["report"]["started"]
        for report in (Path(folder) / "work").glob("*/*/report.json")
    ]
    manifest = Path(folder) / "out/manifest.json"
    dropped: dict[str, int] = msgspec.json.decode(manifest.read_bytes())["dropped"]
    return min(starts) - began, manifest.stat().st_mtime - min(starts), dropped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="folder of jsonl.gz files")
    parser.add_argument("--tokenizer", required=True, help="a tokenizer.json")
    parser.add_argument("--peer", required=True, help="an interpreter that has datatrove 0.10")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1, help="runs of each, alternated; medians are compared")
    options = parser.parse_args()
    mine, theirs = [], []
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory(dir=ROOT, prefix=".benchmark-") as folder:
            start, seconds, dropped = ours(options.corpus, options.tokenizer, options.workers, folder)
            print(f"gristmill  {seconds:7.2f} s  (start-up {start:.1f} s apart), dropped {dropped}", flush=True)
            mine.append(seconds)
            began = time.time()
            command = [
                options.peer,
                str(PEER),
                options.corpus,
                f"{folder}/peer",
                options.tokenizer,
                str(options.workers),
            ]
            subprocess.run(command, check=True, capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
            theirs.append(time.time() - began)
            print(f"datatrove  {theirs[-1]:7.2f} s", flush=True)
    ratio = sorted(theirs)[len(theirs) // 2] / sorted(mine)[len(mine) // 2]
    print(f"datatrove / gristmill: {ratio:.1f}")


if __name__ == "__main__":
    main()
