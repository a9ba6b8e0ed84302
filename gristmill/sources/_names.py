"""What the name of a file says: its kind, and whether a folder scan passes it over."""

from typing import Literal

Kind = Literal["jsonl", "parquet", "text", "html"]

KINDS: dict[str, Kind] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
    ".md": "text",
    ".text": "text",
    ".html": "html",
    ".htm": "html",
}

COMPRESSED = (".gz", ".gzip", ".zst", ".zstd", ".bz2", ".xz")
"""Taken off a name to find the kind. How a file is compressed is read from its first bytes, never from here."""

ACCEPTED = f"{' '.join(KINDS)}, each also with {' '.join(suffix for suffix in COMPRESSED)}"
"""For messages."""


def base_name(uri: str) -> str:
    """The last part of a path or URI; the query of a web address is not part of it."""
    if uri.startswith(("http://", "https://")):
        uri = uri.partition("?")[0].partition("#")[0]
    return uri.rpartition("/")[2]


def looks_compressed(uri: str) -> bool:
    """Whether the name ends in a compression suffix, in any case."""
    return base_name(uri).lower().endswith(COMPRESSED)


def kind_of(uri: str) -> Kind | None:
    """The kind by suffix, compression suffixes removed, in any case; None where the suffix is not accepted."""
    stem = base_name(uri).lower()
    while stem.endswith(COMPRESSED):
        stem = stem.rpartition(".")[0]
    return KINDS.get("." + stem.rpartition(".")[2]) if "." in stem else None


MARKERS = ("_SUCCESS", "_FAILURE", "_committed_", "_started_", "_metadata", "_common_metadata")
"""How files begin that programs leave beside data; they hold no documents."""

UNFINISHED = (
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".incomplete",
    ".inprogress",
    ".crdownload",
    ".download",
    "._copying_",
)
"""How the name of a file ends that a program is writing, or was when it stopped."""

UNKNOWN = "unknown suffix"

_LONGEST_SUFFIX = 16


def suffix_of(name: str) -> str:
    """``.csv`` or ``.csv.gz``, in small letters; empty where the name has none."""
    rest, found = base_name(name).lower(), ""
    while rest.endswith(COMPRESSED):
        rest, _, last = rest.rpartition(".")
        found = f".{last}{found}"
    stem, _, last = rest.rpartition(".")
    return f".{last}{found}" if stem.strip("._") and last.isalnum() and len(last) <= _LONGEST_SUFFIX else found


def reason_against(below: str) -> str:
    """Why a folder scan leaves out the file at this path below the folder; empty where its name gives no reason."""
    *folders, name = below.split("/")
    if name.startswith(MARKERS):
        return "success marker"
    if name.lower().endswith(UNFINISHED) or "_temporary" in folders:
        return "unfinished"
    if any(map(is_hidden, (*folders, name))):
        return "hidden"
    if kind_of(name) is None:
        return UNKNOWN
    return ""


def is_hidden(name: str) -> bool:
    """Markers and working files of other programs (``_SUCCESS``, ``.part-0.crc``, ``_temporary/``): not data."""
    return name.startswith((".", "_"))
