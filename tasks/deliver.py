"""deliver: every output file is put in place as soon as its pieces are packed, while others still are."""

from threading import Lock

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages.output.layout import layout
from gristmill.storage.claims import Claim
from gristmill.types import Layout, Piece, PlannedFile, StageReport, Value
from tasks.pack import pack
from tasks.run import OPTIONS, Call, Reports, nested, tag, watch
from tasks.spread import all_done, is_batched
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


def pack_call(piece: Piece, tokenized: Tokenized, config: PrepareConfig) -> Call:
    """What ``pack`` needs for a piece: ids, or text for a format that holds that."""
    held = tokenized.texts if config.format(piece.format).holds == "text" else tokenized.shards
    return {
        "piece": piece,
        "tokenized": Reports(reports=held),
        "tokenizer": tokenized.tokenizer,
        "mixed": tokenized.mixed,
        "config": config,
    }


@task(name="deliver", task_run_name="deliver-piece-{piece.index:05d}", **{**OPTIONS, "retries": 0})
def deliver_piece(
    piece: Piece, packing: Packing, tokenized: Tokenized, claim: Claim, config: PrepareConfig
) -> dict[str, StageReport]:
    """Pack one piece; after the last one of a file, upload it. Both are task runs of their own with their own
    retries."""
    tag("deliver")
    packed = nested(pack, **pack_call(piece, tokenized, config))
    file = packing.completed(piece, packed)
    if file is None:
        return {"packed": packed}
    uploaded = nested(
        upload,
        config,
        generation=tokenized.generation,
        file=file,
        packed=packing.pieces(file),
        tokenizer=tokenized.tokenizer,
        claim=claim,
    )
    return {"packed": packed, "uploaded": uploaded}


def deliver(tokenized: Tokenized, claim: Claim, config: PrepareConfig) -> Delivered:
    """All counts are known: lay out every output file, then fan out over the pieces."""
    planned = layout(
        tokenized.generation, tokenized.shards, tokenized.texts, tokenized.arranged, tokenized.mixed, config
    )
    watch.board.begin("pack", len(planned.pieces))
    watch.board.begin("upload", len(planned.files))
    way = deliver_in_turn if is_batched(len(planned.pieces), config) else deliver_as_packed
    pieces, uploaded = way(planned, tokenized, claim, config)
    return Delivered(layout=planned, pieces=pieces, uploaded=sorted(uploaded, key=lambda report: report.shard))


def deliver_as_packed(
    planned: Layout, tokenized: Tokenized, claim: Claim, config: PrepareConfig
) -> tuple[list[StageReport], list[StageReport]]:
    """The packed pieces and the uploaded files; a file is uploaded while others are packed."""
    common = {"packing": Packing(planned), "tokenized": tokenized, "claim": claim, "config": config}
    done = all_done(deliver_piece, [{"piece": piece, **common} for piece in planned.pieces], config)
    return [reports["packed"] for reports in done], [reports["uploaded"] for reports in done if "uploaded" in reports]


def deliver_in_turn(
    planned: Layout, tokenized: Tokenized, claim: Claim, config: PrepareConfig
) -> tuple[list[StageReport], list[StageReport]]:
    """The same in batches, which may be on other machines: all pieces, then all files."""
    common = {"tokenizer": tokenized.tokenizer, "claim": claim, "config": config}
    packed = all_done(pack, [pack_call(piece, tokenized, config) for piece in planned.pieces], config)
    files = [
        {
            "generation": tokenized.generation,
            "file": file,
            "packed": Reports(reports=[packed[number] for number in file.pieces]),
            **common,
        }
        for file in planned.files
    ]
    return packed, all_done(upload, files, config)
