"""datatrove's MinHash in its four stages, then its DocumentTokenizer: run by an interpreter that has datatrove 0.10.

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
from datatrove.pipeline.tokens import DocumentTokenizer
from datatrove.utils.hashing import HashConfig


def main(source: str, output: str, tokenizer: str, workers: int) -> None:
    config = MinhashConfig(hash_config=HashConfig(precision=64), num_buckets=14, hashes_per_bucket=8)

    def run(stage: str, tasks: int, *steps: object) -> None:
        LocalPipelineExecutor(
            pipeline=list(steps), tasks=tasks, workers=workers, logging_dir=f"{output}/logs/{stage}"
        ).run()

    signatures, buckets, removed = (f"{output}/{name}" for name in ("signatures", "buckets", "removed"))
    run("sign", workers, JsonlReader(source), MinhashDedupSignature(output_folder=signatures, config=config))
    run("match", 14, MinhashDedupBuckets(input_folder=signatures, output_folder=buckets, config=config))
    run("cluster", 1, MinhashDedupCluster(input_folder=buckets, output_folder=removed, config=config))
    run(
        "tokenize",
        workers,
        JsonlReader(source),
        MinhashDedupFilter(input_folder=removed),
        DocumentTokenizer(
            output_folder=f"{output}/tokens",
            tokenizer_name_or_path=tokenizer,
            eos_token="<|endoftext|>",
            shuffle_documents=False,
        ),
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
