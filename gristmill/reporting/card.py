"""The data card: ``README.md`` in the form of the Hugging Face hub, made from the manifest alone."""

import hashlib
from collections import defaultdict
from typing import Any

import yaml

from gristmill.plugins import fact
from gristmill.reporting.health import judged_rows
from gristmill.reporting.losses import loss_rows
from gristmill.reporting.tables import escape, markdown, mix_rows, repetitions, source_rows
from gristmill.types import Manifest, file_name

CARD = "README.md"
"""In no manifest: whoever publishes the data set adds a licence and words to it. ``card_name`` names the original."""

MARK = b"\n<!-- sha256 of the above as it was written: "

SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")
LOADABLE = (".parquet", ".jsonl", ".jsonl.gz", ".jsonl.zst")
"""What ``datasets.load_dataset`` reads without code."""

MOST_ROWS = 30
HUB_SPLITS = {"val": "validation"}


def index_name(generation: int) -> str:
    """Where the page of a generation is."""
    return file_name("report/index.html", generation)


def card_name(generation: int) -> str:
    """Where the sealed card of a generation is."""
    return file_name("report/card.md", generation)


def card(manifest: Manifest) -> bytes:
    """The card of a whole data set. The licence is left to whoever publishes it."""
    header = yaml.safe_dump(_header(manifest), sort_keys=False)
    return _sealed(f"---\n{header}---\n\n{_body(manifest)}".encode())


def untouched(data: bytes) -> bool:
    """Whether a ``README.md`` is as ``card`` made it, of whichever generation: nobody has written in it since."""
    content, mark, _ = data.rpartition(MARK)
    return bool(mark) and _sealed(content) == data


def _sealed(content: bytes) -> bytes:
    """With a comment at the end, which no page shows, by which an edited card is told from one that is not."""
    return content + MARK + hashlib.sha256(content).hexdigest().encode() + b" -->\n"


def _header(manifest: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = {"pretty_name": manifest.dataset}
    if languages := _languages(manifest):
        found["language"] = languages
    found["size_categories"] = [_size(manifest.totals["documents"])]
    found["task_categories"] = ["text-generation"]
    configs = _configs(manifest)
    # Without a word about it, the hub would show the tables of the report as if they were the data.
    return found | ({"configs": configs} if configs else {"viewer": False})


def _languages(manifest: Manifest) -> list[str]:
    """Those that the rules let through, where every source has such a rule."""
    common = manifest.config.get("cleaning") or []
    sources = manifest.config.get("sources") or []
    allowed: set[str] = set()
    for source in sources:
        own = source.get("cleaning")
        filters = [rule for rule in (common if own is None else own) if rule["kind"] == "language"]
        if not filters:
            return []
        allowed |= set(filters[-1]["languages"])
    return sorted(allowed)


def _size(documents: int) -> str:
    """The hub's name for a number of documents."""
    for place, name in enumerate(SIZES):
        if documents < 10 ** (place + 3):
            return f"n<{name}" if place == 0 else f"{SIZES[place - 1]}<n<{name}"
    return f"n>{SIZES[-1]}"


def _configs(manifest: Manifest) -> list[dict[str, Any]]:
    table: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in manifest.files:
        if file.path.endswith(LOADABLE):
            table[file.format][HUB_SPLITS.get(file.split, file.split)].append(file.path)
    return [
        {
            "config_name": format,
            "data_files": [{"split": split, "path": paths} for split, paths in sorted(splits.items())],
        }
        for format, splits in sorted(table.items())
    ]


def _body(manifest: Manifest) -> str:
    totals, record = manifest.totals, manifest.tokenizer
    losses, rules = loss_rows(manifest), judged_rows(manifest)
    lines = [
        f"# {escape(manifest.dataset)}",
        "",
        f"Token shards for language-model pretraining: {totals['documents']:,} documents, {totals['tokens']:,} tokens, "
        f"{totals['characters']:,} characters of text, of {totals['input_documents']:,} documents read. Made by "
        f"gristmill {manifest.code_version}; generation {len(manifest.generations)}.",
        "",
        f"Tokenizer: {escape(record.name)}, {record.vocab_size:,} ids, {manifest.dtype}, end-of-text id "
        f"{'none' if record.eot_id is None else record.eot_id}; it is in `tokenizer/`.",
        "",
        "## Files",
        "",
        markdown(_splits(manifest)),
        "",
        "`manifest.json` lists every file with its sha256 and counts. "
        f"`{index_name(len(manifest.generations))}` shows the data set in figures; open it in a browser, it needs no "
        "network. `report/duplicates/`, `report/rejected/` and `report/quarantine/` tell what was left out.",
        "",
        "## Where it comes from",
        "",
        markdown(source_rows(manifest)[:MOST_ROWS]),
        "",
        *([repetitions(manifest), "", markdown(mixture[:MOST_ROWS]), ""] if (mixture := mix_rows(manifest)) else []),
        "## How it was made",
        "",
        "In this order: read, clean, drop copies, hold out a part, order, encode. The full configuration is in "
        f"`manifest.json` under `config`; its fingerprint is `{manifest.config_fingerprint}`.",
        "",
        markdown([{name: row[name] for name in ("source", "rule", "dropped", "kept")} for row in rules[:MOST_ROWS]]),
        "",
        "What was lost, most tokens first:",
        "",
        markdown(losses[:MOST_ROWS]),
        "",
        "## Read it",
        "",
        *_reading(manifest),
        "## Verify it",
        "",
        "    python flows/verify.py FOLDER",
        "",
        "compares every file with the manifest: bytes, sha256, ids in range, end-of-text count, document starts. "
        "`python -m gristmill inspect FOLDER` shows documents as text.",
        "",
        "## Licence",
        "",
        "Whoever publishes this data set states it: add `license:` to the header of this file. It is the only one that "
        "may be edited; `report/card.md` keeps what was written here at first.",
    ]
    return "\n".join(lines) + "\n"


def _splits(manifest: Manifest) -> list[dict[str, object]]:
    """One row a format and split."""
    table: dict[tuple[str, str], list[int]] = {}
    for file in manifest.files:
        row = table.setdefault((file.format, file.split), [0, 0, 0, 0])
        for place, count in enumerate((1, file.documents, file.tokens, file.bytes)):
            row[place] += count
    names = ("files", "documents", "ids", "bytes")
    return [
        {"format": format, "split": split, **dict(zip(names, row, strict=True))}
        for (format, split), row in table.items()
    ]


def _reading(manifest: Manifest) -> list[str]:
    """A snippet for the readers, where they open one of the formats."""
    if not any(fact("formats", file.format, "read_as") == "ids" for file in manifest.files):
        return ["The folder of each format is laid out as its trainer expects it.", ""]
    return [
        "```python",
        "from gristmill.readers.loader import Loader",
        "from gristmill.readers.windows import Windows",
        "",
        'loader = Loader(Windows("FOLDER", length=1024), batch=12, seed=1)',
        "batch = loader.next()  # batch.x, batch.y: int64, (12, 1024) each; y is x shifted by one",
        "```",
        "",
    ]
