"""The folders and settings of one comparison, and a run of each program in them."""

import argparse
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import _corpus
import _ours
import _programs
import msgspec
from _programs import Program
from _results import Run

EOT = "<|endoftext|>"
MOST_IDS = 1 << 16


class Bench:
    """The folders and settings of one comparison."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.eot = end_of_text(Path(options.tokenizer))
        self.folders = {
            job: _corpus.part(
                options.corpus, 1.0 if job == "tokens" else options.part, scratch / job, least=options.workers
            )
            for job in options.jobs
        }
        self.plain: Path | None = None
        self.corpora = {job: _corpus.counted(folder) for job, folder in self.folders.items()}

    def ours(self, job: str) -> Run:
        """One run of our own. Raises ``Failed``."""
        with self.empty() as folder:
            return self.prepared(job, self.folders[job], self.options.workers, folder)

    def prepared(self, job: str, source: Path, workers: int, folder: Path, cores: int = _ours.ALL) -> Run:
        """A job of our own on any corpus into an empty folder, on so many cores. Raises ``Failed``."""
        options = self.options
        return _ours.run(job, source, options.tokenizer, workers, folder, self.eot, options.environments, cores)

    def peer(self, program: Program, interpreter: str) -> Run:
        """One run of another program. Raises ``Failed``."""
        source = self.folders[program.job]
        if program.reads == "jsonl":
            self.plain = self.plain or _corpus.plain(source, self.scratch / "plain")
            source = self.plain
        with self.empty() as folder:
            options = self.options
            return _programs.run(
                program, interpreter, source, options.tokenizer, options.workers, folder, self.eot, options.limit
            )

    @contextmanager
    def empty(self) -> Iterator[Path]:
        """A folder for one run; what the one before left to be written is written first."""
        os.sync()
        folder = self.scratch / "run"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def end_of_text(tokenizer: Path) -> int:
    """The id of the end of text. Raises ``SystemExit`` for a tokenizer whose ids are not uint16 everywhere."""
    document = msgspec.json.decode(tokenizer.read_bytes())
    ids = {token["content"]: token["id"] for token in document["added_tokens"]}
    if EOT not in ids or max(*ids.values(), *document["model"]["vocab"].values()) >= MOST_IDS:
        raise SystemExit(f"{tokenizer}: needs a token {EOT} and at most {MOST_IDS:,} ids, as GPT-2's has")
    return int(ids[EOT])
