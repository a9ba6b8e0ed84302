"""datatrove's MinHash in its four stages, its DocumentTokenizer in the last.

PEER/bin/python benchmarks/peers/datatrove_minhash.py INPUT_FOLDER OUTPUT_FOLDER TOKENIZER_JSON WORKERS
"""

import sys

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import JsonlReader
from datatrove.utils.hashing import HashConfig
from datatrove_tokens import tokenizing


def run(output: str, stage: str, tasks: int, workers: int, *steps: object) -> None:
    """One stage to its end."""
    LocalPipelineExecutor(
        pipeline=list(steps), tasks=tasks, workers=workers, logging_dir=f"{output}/logs/{stage}"
    ).run()


def main(source: str, output: str, tokenizer: str, workers: int) -> None:
    config = MinhashConfig(hash_config=HashConfig(precision=64), num_buckets=14, hashes_per_bucket=8)
    signatures, buckets, removed = (f"{output}/{name}" for name in ("signatures", "buckets", "removed"))
    sign = MinhashDedupSignature(output_folder=signatures, config=config)
    run(output, "sign", workers, workers, JsonlReader(source), sign)
    match = MinhashDedupBuckets(input_folder=signatures, output_folder=buckets, config=config)
    run(output, "match", 14, workers, match)
    cluster = MinhashDedupCluster(input_folder=buckets, output_folder=removed, config=config)
    run(output, "cluster", 1, workers, cluster)
    kept = MinhashDedupFilter(input_folder=removed)
    run(output, "tokenize", workers, workers, JsonlReader(source), kept, tokenizing(output, tokenizer))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
