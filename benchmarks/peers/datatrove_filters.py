"""datatrove's Gopher and C4 filters, then its MinHash and DocumentTokenizer on what they keep.

PEER/bin/python benchmarks/peers/datatrove_filters.py INPUT_FOLDER OUTPUT_FOLDER TOKENIZER_JSON WORKERS

The filters in the order and with the writer of its FineWeb example, without language and URL, which we do not run.
"""

import sys

import datatrove_minhash
from datatrove.pipeline.filters import C4QualityFilter, GopherQualityFilter, GopherRepetitionFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter


def main(source: str, output: str, tokenizer: str, workers: int) -> None:
    filtered = f"{output}/filtered"
    datatrove_minhash.run(
        output,
        "filter",
        workers,
        workers,
        JsonlReader(source),
        GopherRepetitionFilter(),
        GopherQualityFilter(),
        C4QualityFilter(),
        JsonlWriter(filtered),
    )
    datatrove_minhash.main(filtered, output, tokenizer, workers)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
