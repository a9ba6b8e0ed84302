"""What a file may cost before it is refused: a hostile or damaged input must not fill the memory or the disk."""

from pydantic import Field

from gristmill.settings import Settings

MIB = 1 << 20

RATIO_FREE_BYTES = 64 * MIB
"""The ratio is not looked at below this much output: a short run of equal lines compresses a thousandfold."""


class Limits(Settings):
    """Ceilings for one input file. They decide what is quarantined, so they are part of a source's identity."""

    line_bytes: int = Field(64 * MIB, gt=0, le=1 << 30, description="A longer line is quarantined: line_too_long.")
    file_bytes: int = Field(1 << 40, gt=0, description="More decoded bytes than this refuse the file.")
    ratio: int = Field(
        1000, gt=1, description="More decoded bytes per stored byte refuse the file (after 64 MiB of output)."
    )
    window_bytes: int = Field(
        256 * MIB,
        gt=0,
        le=1 << 31,
        description="Memory a compressed file may ask for: the window of zstd, the dictionary of xz. A file that "
        "asks for more is refused; zstd --long=31 asks for 2147483648.",
    )
    json_depth: int = Field(200, gt=0, le=500, description="A line nested deeper is quarantined: too_deep.")
    document_chars: int = Field(
        64 * MIB, gt=0, le=1 << 28, description="A text of more characters is quarantined: document_too_long."
    )
