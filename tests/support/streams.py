"""Formats outside of a run: streams of documents, the files that are made of them, and what is read back."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gristmill.formats.base import DataSet, Format, OutputFile, Packed
from gristmill.stages.output.label_masks import as_bytes, label_mask
from gristmill.storage import disk, publishing
from gristmill.types import DOCUMENT, PublishedFile, TokenizerRecord


class Documents:
    """The stream of a split, from the ids of its documents without EOT."""

    def __init__(self, documents: Sequence[Sequence[int]], eot: str = "append", eot_id: int = 0) -> None:
        before = [eot_id] if eot == "prepend" else []
        after = [eot_id] if eot == "append" else []
        self.pieces = [[*before, *ids, *after] for ids in documents]
        self.ids = [token for piece in self.pieces for token in piece]
        self.starts = np.cumsum([0, *map(len, self.pieces)])
        self.length = len(self.ids)
        self.documents = len(documents)

    def start_before(self, position: int) -> int:
        return int(self.starts[self.starts <= position].max())

    def start_after(self, position: int) -> int:
        return int(self.starts[self.starts >= position].min())


def record(vocab_size: int = 50257, eot_id: int = 0, name: str = "gpt2") -> TokenizerRecord:
    return TokenizerRecord(
        kind="huggingface", name=name, file="tokenizer.json", sha256="ab" * 32, vocab_size=vocab_size, eot_id=eot_id,
        fast_path="fastokens 1",
    )  # fmt: skip


def packed(
    folder: Path, format: Format, file: OutputFile, stream: Documents, tokenizer: TokenizerRecord | None = None
) -> Packed:
    """What a format gets for one of its files, cut into two parts."""
    tokenizer = tokenizer or record()
    folder.mkdir(parents=True, exist_ok=True)
    dtype = format.packed(tokenizer.vocab_size)
    eot = int(format.eot != "none")
    ids = np.array(stream.ids[file.start : file.stop], dtype)
    inside = [
        len(piece) - eot
        for piece, start in zip(stream.pieces, stream.starts.tolist(), strict=False)
        if file.start <= start < file.stop
    ]
    records = np.array([(7, length) for length in inside], DOCUMENT)
    (folder / "ids-1").write_bytes(ids[: len(ids) // 2].tobytes())
    (folder / "ids-2").write_bytes(ids[len(ids) // 2 :].tobytes())
    (folder / "list-1").write_bytes(records[: len(records) // 3].tobytes())
    (folder / "list-2").write_bytes(records[len(records) // 3 :].tobytes())
    return Packed(
        path=file.path,
        split=file.split,
        tokens=file.stop - file.start,
        documents=len(inside),
        dtype=dtype,
        eot=eot,
        tokenizer=tokenizer,
        ids=[folder / "ids-1", folder / "ids-2"],
        lists=[folder / "list-1", folder / "list-2"],
    )


def put(
    folder: Path, format: Format, streams: dict[str, Documents], tokenizer: TokenizerRecord | None = None
) -> list[PublishedFile]:
    """Write every file of a format below ``folder`` as a run does, and what stands beside them."""
    tokenizer = tokenizer or record()
    published = []
    for number, file in enumerate(format.files(dict(streams), 1)):
        work = folder / f"work-{number}"
        made = packed(work, format, file, streams[file.split], tokenizer)
        work.joinpath("made").mkdir()
        parts = format.parts(made, work / "made")
        artifact = publishing.publish(parts, folder / file.path, format.header(made))
        for name, blocks in format.companions(made).items():
            disk.write(folder / name, b"".join(blocks))
        mask = None
        for name, found in format.masks(file.path, made.blocks()).items():
            disk.write(folder / name, b"".join(as_bytes(found)))
            mask = label_mask(folder / name, f"{format.kind()}/{name}")
        published.append(
            PublishedFile(
                path=f"{format.kind()}/{file.path}", format=format.kind(), split=file.split, generation=1,
                bytes=artifact.nbytes, sha256=artifact.sha256, documents=made.documents, tokens=made.tokens, eos=0,
                max_id=0, block_bytes=1, blocks=[], boundaries=[], mask=mask,
            )
        )  # fmt: skip
    about = DataSet(
        name="demo", folder=str(folder), generation=1, files=published, tokenizer=tokenizer, archive=folder / "none"
    )
    for name, data in format.sidecars(about).items():
        disk.write(folder / name, data)
    return published


def read(folder: Path, format: Format, files: list[PublishedFile], split: str, vocab_size: int = 50257) -> list[int]:
    """The ids of a split, read back file by file."""
    dtype = format.dtype(vocab_size)
    found = []
    for file in files:
        if file.split == split:
            blocks = list(format.blocks(folder / file.path.partition("/")[2], dtype))
            assert sum(map(len, blocks)) == file.tokens > 0
            found += [token for block in blocks for token in block.tolist()]
    return found
