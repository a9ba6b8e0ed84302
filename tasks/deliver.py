"""deliver: every output file is put in place as soon as its pieces are packed, while others still are."""

from threading import Lock

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.layout import layout
from gristmill.types import Layout, Piece, PlannedFile, StageReport, Value
from tasks.pack import pack
from tasks.run import OPTIONS, Reports, all_done, watch
from tasks.tokenize import Tokenized
from tasks.upload import upload


class Delivered(Value, frozen=True, kw_only=True):
    """What was published: the packed pieces and the uploaded files, both in order."""

    layout: Layout
    pieces: list[StageReport]
    uploaded: list[StageReport]


class Packing:
    """The pieces that are packed so far."""

    def __init__(self, planned: Layout) -> None:
        self._files = {number: file for file in planned.files for number in file.pieces}
        self._packed: dict[int, StageReport] = {}
        self._lock = Lock()

    def completed(self, piece: Piece, report: StageReport) -> PlannedFile | None:
        """The file of which this was the last piece to be packed; ``None`` where others are missing."""
        file = self._files[piece.index]
        with self._lock:
            self._packed[piece.index] = report
            return file if all(number in self._packed for number in file.pieces) else None

    def pieces(self, file: PlannedFile) -> Reports:
        """The reports of a completed file."""
        return Reports(reports=[self._packed[number] for number in file.pieces])


@task(name="deliver", task_run_name="deliver-piece-{piece.index:05d}", tags={"deliver"}, **{**OPTIONS, "retries": 0})
def deliver_piece(
    piece: Piece, packing: Packing, tokenized: Tokenized, config: PrepareConfig
) -> dict[str, StageReport]:
    """Pack one piece; after the last one of a file, upload it. Both are task runs of their own with their own
    retries."""
    retries = config.execution.retries
    held = tokenized.texts if config.format(piece.format).holds == "text" else tokenized.shards
    packed = pack.with_options(retries=retries)(
        piece, Reports(reports=held), tokenized.tokenizer, tokenized.mixed, config
    )
    file = packing.completed(piece, packed)
    if file is None:
        return {"packed": packed}
    tried = upload.with_options(retries=retries)
    uploaded = tried(tokenized.generation, file, packing.pieces(file), tokenized.tokenizer, config)
    return {"packed": packed, "uploaded": uploaded}


def deliver(tokenized: Tokenized, config: PrepareConfig) -> Delivered:
    """All counts are known: lay out every output file, then fan out over the pieces."""
    planned = layout(
        tokenized.generation, tokenized.shards, tokenized.texts, tokenized.arranged, tokenized.mixed, config
    )
    watch.board.begin("pack", len(planned.pieces))
    watch.board.begin("upload", len(planned.files))
    common = {"packing": Packing(planned), "tokenized": tokenized, "config": config}
    done = all_done(deliver_piece, [{"piece": piece, **common} for piece in planned.pieces], config)
    uploaded = [reports["uploaded"] for reports in done if "uploaded" in reports]
    return Delivered(
        layout=planned,
        pieces=[reports["packed"] for reports in done],
        uploaded=sorted(uploaded, key=lambda report: report.shard),
    )
