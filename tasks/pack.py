"""pack: gather the pieces of the output files."""

from prefect import task

from gristmill.config import PrepareConfig
from gristmill.stages import pack as stage
from gristmill.stages.layout import layout
from gristmill.types import Layout, Piece, StageReport, Value
from tasks.run import OPTIONS, Reports, in_worker, watch
from tasks.spread import all_done
from tasks.tokenize import Tokenized


class Packed(Value, frozen=True, kw_only=True):
    """What will be published, and the packed pieces in order."""

    layout: Layout
    pieces: list[StageReport]


@task(name="pack", task_run_name="pack-piece-{piece.index:05d}", tags={"pack"}, **OPTIONS)
def pack(piece: Piece, tokenized: Reports, tokenizer: StageReport, config: PrepareConfig) -> StageReport:
    """One piece of one output file."""
    return in_worker("pack", stage.pack, config, piece=piece, tokenized=tokenized.reports, tokenizer=tokenizer)


def pack_pieces(tokenized: Tokenized, config: PrepareConfig) -> Packed:
    """All counts are known: lay out every output file, then fan out over the pieces."""
    planned = layout(tokenized.generation, tokenized.shards, tokenized.arranged, config)
    watch.board.begin("pack", len(planned.pieces))
    common = {"tokenized": Reports(reports=tokenized.shards), "tokenizer": tokenized.tokenizer, "config": config}
    pieces = all_done(pack, [{"piece": piece, **common} for piece in planned.pieces], config)
    return Packed(layout=planned, pieces=pieces)
