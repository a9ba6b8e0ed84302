"""A corpus many times over, so that nothing in one copy is a copy of anything in another.

Before the first word and every third one after it a text gets the mark of its copy, so that every run of five words
differs; Han and kana are moved by as many places as the copy has, so that every run of characters does. Copies within
the corpus stay copies of each other. All sizes are salted alike, the single one too.
"""

import re
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

import _corpus
import msgspec
from isal import igzip

WORDS = re.compile(r"((?:[^\W_]+[\W_]+){3})(?=[^\W_])")
"""Three words, of letters and digits as those of shingles are, before another one."""

SCRIPTS = ((0x4E00, 0x9FA5), (0x3041, 0x3096), (0x30A1, 0x30FA))
"""First and last code point of Han, hiragana and katakana."""


def salted(text: str, copy: int) -> str:
    """The text as copy ``copy`` has it, 0 to 25."""
    mark = f"q{chr(ord('a') + copy)}"
    return mark + WORDS.sub(rf"\g<1>{mark}", text.translate(_moved(copy)))


@cache
def _moved(copy: int) -> dict[int, int]:
    return {
        code: first + (code - first + copy) % (last + 1 - first)
        for first, last in SCRIPTS
        for code in range(first, last + 1)
    }


def make(folder: Path, target: Path, copies: int, workers: int) -> Path:
    """So many salted copies of every file, in ``target``."""
    target.mkdir(parents=True)
    work = [(path, copy) for copy in range(copies) for path in _corpus.files(folder)]
    with ProcessPoolExecutor(workers) as processes:
        list(processes.map(partial(_write, target=target), work))
    return target


def _write(work: tuple[Path, int], target: Path) -> None:
    path, copy = work
    with igzip.open(path) as lines, igzip.open(target / f"{copy:02}-{path.name}", "wb", compresslevel=1) as found:
        for number, line in enumerate(lines):
            document = msgspec.json.decode(line)
            row = {"id": f"{copy}-{document.get('id', number)}", "text": salted(document["text"], copy)}
            found.write(msgspec.json.encode(row) + b"\n")
