"""datatrove's JsonlReader and DocumentTokenizer.

PEER/bin/python benchmarks/peers/datatrove_tokens.py INPUT_FOLDER OUTPUT_FOLDER TOKENIZER_JSON WORKERS
"""

import sys

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer


def tokenizing(output: str, tokenizer: str) -> DocumentTokenizer:
    """The step that all jobs end with: ids and one end-of-text id a document, in the order of the input."""
    return DocumentTokenizer(
        output_folder=f"{output}/tokens",
        tokenizer_name_or_path=tokenizer,
        eos_token="<|endoftext|>",
        shuffle_documents=False,
    )


def main(source: str, output: str, tokenizer: str, workers: int) -> None:
    LocalPipelineExecutor(
        pipeline=[JsonlReader(source), tokenizing(output, tokenizer)],
        tasks=workers,
        workers=workers,
        logging_dir=f"{output}/logs",
    ).run()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
