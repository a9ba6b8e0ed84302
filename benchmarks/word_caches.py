"""What the fast library keeps of words that it has seen: memory of a process that encodes ever more different ones.

    python benchmarks/word_caches.py gpt2.json

The words are made up, eight letters each, so that hardly one comes twice.
"""

import argparse
import os
import random
import string

from gristmill.processes.pool import ONE_THREAD

os.environ.update(ONE_THREAD)  # read when the library is loaded

import fastokens
import psutil

ROUNDS, ROUND_WORDS = 8, 1_200_000
WORD_LETTERS = 8
DOCUMENT_WORDS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", help="a tokenizer.json")
    encoder = fastokens.Tokenizer.from_file(parser.parse_args().tokenizer)
    drawn = random.Random(0)
    print("million different words   MB of the process")
    for number in range(ROUNDS + 1):
        print(f"{number * ROUND_WORDS / 1e6:23.1f}{psutil.Process().memory_info().rss / 1e6:20.0f}")
        for _ in range(ROUND_WORDS // DOCUMENT_WORDS):
            words = ("".join(drawn.choices(string.ascii_lowercase, k=WORD_LETTERS)) for _ in range(DOCUMENT_WORDS))
            encoder.encode_batch_flat([" ".join(words)], add_special_tokens=False)


if __name__ == "__main__":
    main()
