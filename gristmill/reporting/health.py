"""What the rules did to a corpus, with a warning where one takes more than a rule of its kind should."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.reporting.tables import Row, link_lines, passed_over_lines, rule_rows
from gristmill.text.whitespace import unmet
from gristmill.types import Manifest

LEAST_KEPT = 0.2
"""A filter that keeps less is set wrong more often than the corpus is that bad."""

MOST_OF_ONE = 0.5
"""A source that has more of a mixture decides what a model trained on it sounds like."""

HELD_OUT = 5
"""Documents of validation at least, where the corpus has so many to spare: a loss on one or two is theirs alone."""

MOST_CHANGED = 0.5
"""A rule that takes away more is usually at work on texts that it was not made for."""


def health(source: str, rules: Sequence[dict[str, Any]]) -> list[Row]:
    """The table of one source: a row a rule, from the manifest's ledger or one piece's ``details["rules"]``.

    ``kept``: documents out of those in. ``changed``: characters by which the texts of the documents that stayed grew
    or shrank, out of those in; a filter changes none, and a replacement of the same length does not show. Both are
    empty where nothing came in.
    """
    return [
        {
            "source": source,
            "rule": row["rule"],
            "documents in": row["documents_in"],
            "documents out": row["documents_out"],
            "kept": _percent(_kept(row)),
            "characters in": row["characters_in"],
            "characters out": row["characters_out"],
            "changed": _percent(_changed(row)),
            "warning": _warning(row),
        }
        for row in rules
    ]


def health_rows(manifest: Manifest) -> list[Row]:
    """The table of a whole data set."""
    return [row for rule in manifest.rules for row in health(rule.source, [msgspec.structs.asdict(rule)])]


def judged_rows(manifest: Manifest) -> list[Row]:
    """The ledger of cleaning, each row with the share that was kept and its warning."""
    return [
        {**row, "kept": verdict["kept"], "warning": verdict["warning"]}
        for row, verdict in zip(rule_rows(manifest), health_rows(manifest), strict=True)
    ]


def warnings(manifest: Manifest) -> list[str]:
    """A line for each rule that takes more than a rule of its kind should, for ids that were not as proven, for a
    source that outweighs all others of a mixture, for too little or too much validation, for files that were passed
    over, and for links out of a folder."""
    found = [f"{row['source']}: {row['rule']} {row['warning']}" for row in health_rows(manifest) if row["warning"]]
    if manifest.tokenizer.documents_different:
        found.append(
            f"tokenizer: {manifest.tokenizer.fast_path} and the reference differ on "
            f"{manifest.tokenizer.documents_different:,} documents compared; the reference encoded their shards"
        )
    found += [*dominant(manifest), *held_out(manifest), *undivided(manifest)]
    return [*found, *passed_over_lines(manifest.passed_over), *link_lines(manifest.source_shards)]


def undivided(manifest: Manifest) -> list[str]:
    """A line for a source whose separator divided none of its files, as far as they were read to their end."""
    found = []
    for source in manifest.config["sources"]:
        label = source["name"] or source["kind"]
        counts = [shard.documents for shard in manifest.source_shards if shard.source == label and not shard.error]
        if source.get("separator") and counts and max(counts) <= 1 and source["limit_documents"] is None:
            found.append(f"{label}: {unmet(source['separator'])}")
    return found


def dominant(manifest: Manifest) -> list[str]:
    """A line for a source that has more than half of a mixture: what is made of it is mostly that source."""
    mixed = {name: row["train_tokens"] for name, row in manifest.sources.items() if "train_tokens" in row}
    tokens = max(1, sum(mixed.values()))
    return [
        f"{name}: {_percent(count / tokens)} of the tokens of the mixture, over {MOST_OF_ONE:.0%}"
        for name, count in mixed.items()
        if count / tokens > MOST_OF_ONE
    ]


def held_out(manifest: Manifest) -> list[str]:
    """A line where nothing is left to train on, or so little to validate with that it says nothing."""
    kind, documents = manifest.config["split"]["kind"], Counter[str]()
    for file in manifest.files:
        if file.format == manifest.files[0].format:
            documents[file.split] += file.documents
    total, held = sum(documents.values()), documents["val"]
    if total and not documents["train"]:
        return ["every document fell in the validation part; lower split.fraction"]
    fraction = min(0.1, max(0.01, HELD_OUT / max(1, total)))
    enough = 1 if kind == "characters" else min(2 * HELD_OUT, fraction * total / 2)
    if kind == "none" or held >= enough:
        return []
    remedy = f"split: {{kind: fraction, fraction: {fraction:.2g}}} gives about {max(1, round(fraction * total))}"
    return [f"validation has {held} of {total:,} documents, too few; {remedy}, {{kind: none}} none"]


def _kept(row: dict[str, Any]) -> float | None:
    return float(row["documents_out"] / row["documents_in"]) if row["documents_in"] else None


def _changed(row: dict[str, Any]) -> float | None:
    if not row["characters_in"]:
        return None
    if row["documents_out"] < row["documents_in"]:  # a filter: what is gone is whole documents
        return 0.0
    return float(abs(row["characters_out"] - row["characters_in"]) / row["characters_in"])


def _warning(row: dict[str, Any]) -> str:
    kept, changed = _kept(row), _changed(row)
    if kept is not None and kept < LEAST_KEPT:
        return f"keeps {_percent(kept)} of its documents, under {LEAST_KEPT:.0%}"
    if changed is not None and changed > MOST_CHANGED:
        return f"changes {_percent(changed)} of the characters, over {MOST_CHANGED:.0%}"
    return ""


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
