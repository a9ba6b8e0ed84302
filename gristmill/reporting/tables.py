"""Rows for people: of the published files and of the input shards. Strings that come from data are escaped."""

from gristmill.types import Manifest, StageReport

Row = dict[str, object]

SPECIAL = str.maketrans({mark: f"&#{ord(mark)};" for mark in "&<>`|[]*\\!#"} | {"\n": " ", "\r": " "})
LONGEST = 200


def escape(text: str) -> str:
    """Text from data, safe in a Markdown table: markup as entities, no links, one line, at most 200 characters."""
    printable = "".join(mark if mark.isprintable() else "?" for mark in text.replace("\n", " "))
    return printable[:LONGEST].translate(SPECIAL).replace("://", "&#58;//").replace("www.", "www&#46;")


def published_rows(manifest: Manifest) -> list[Row]:
    """One row a published file."""
    return [
        {
            "file": file.path,
            "split": file.split,
            "documents": file.documents,
            "tokens": file.tokens,
            "EOS": file.eos,
            "bytes": file.bytes,
            "sha256": file.sha256,
        }
        for file in manifest.files
    ]


def transfer_rows(manifest: Manifest, uploaded: list[StageReport]) -> list[Row]:
    """``published_rows``, and how each file got to its place; ``None`` for those of earlier generations."""
    put = {report.details["file"]["path"]: report.details["transfer"] for report in uploaded}
    return [{**row, **_transfer(put.get(str(row["file"])))} for row in published_rows(manifest)]


def _transfer(put: dict[str, float] | None) -> Row:
    if put is None:
        return {"seconds": None, "MB/s": None, "retries": None}
    speed = put["bytes"] / 1e6 / max(put["seconds"], 1e-6)
    return {"seconds": round(put["seconds"], 3), "MB/s": round(speed, 1), "retries": put["retries"]}


def input_rows(manifest: Manifest) -> list[Row]:
    """One row an input shard."""
    return [
        {
            "shard": shard.index,
            "source": escape(shard.source),
            "input": escape(_place(shard.uri, shard.part)),
            "documents": shard.documents,
            "kept": shard.kept,
            "tokens": shard.tokens,
            "dropped": _reasons(shard.dropped),
            "quarantined": _reasons(shard.quarantined),
            "error": escape(shard.error),
        }
        for shard in manifest.source_shards
    ]


def source_rows(manifest: Manifest) -> list[Row]:
    """One row a source: what was published of it."""
    tokens = max(1, manifest.totals["tokens"])
    return [
        {
            "source": escape(name),
            "documents": counts["documents"],
            "tokens": counts["tokens"],
            "share of tokens": f"{counts['tokens'] / tokens:.2%}",
        }
        for name, counts in manifest.sources.items()
    ]


def rule_rows(manifest: Manifest) -> list[Row]:
    """The ledger of cleaning: one row a source and rule."""
    return [
        {
            "source": escape(rule.source),
            "rule": rule.rule,
            "documents in": rule.documents_in,
            "dropped": rule.documents_in - rule.documents_out,
            "characters in": rule.characters_in,
            "characters removed": rule.characters_in - rule.characters_out,
            "tokens lost (estimated)": rule.tokens_lost,
            "reasons": _reasons(rule.dropped),
        }
        for rule in manifest.rules
    ]


def _place(uri: str, part: dict[str, int] | None) -> str:
    return uri if part is None else f"{uri} ({part['start']} to {part['stop']})"


def _reasons(reasons: dict[str, int]) -> str:
    return ", ".join(f"{escape(reason)} {count:,}" for reason, count in reasons.items())


def markdown(rows: list[Row]) -> str:
    """A Markdown table; numbers with thousands separators. ``None.`` where there are no rows."""
    if not rows:
        return "None."
    names = list(rows[0])
    head = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    return "\n".join(head + [f"| {' | '.join(_cell(row[name]) for name in names)} |" for row in rows])


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
