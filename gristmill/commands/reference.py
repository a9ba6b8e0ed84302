"""``python -m gristmill reference``: docs/configuration.md, made from the classes that check a configuration."""

import inspect
import json
from collections.abc import Iterator
from typing import Any, get_origin

from pydantic import BaseModel, ByteSize
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from gristmill.cleaning.base import Cleaner
from gristmill.commands import Parser
from gristmill.config import PrepareConfig
from gristmill.plugins import Plugin, Room, find, kinds
from gristmill.settings import Settings, inside

INTRODUCTION = """\
# Configuration

Every key that a configuration file may have. This page is what `python -m gristmill reference` prints; what it says
comes from the classes by which a file is checked, and is changed there.

A file is YAML. Every key has a default but those marked as required, and a wrong one is answered with those there are.
`--set KEY=VALUE` lays a value over the file: `--set tokenizer.vocab_size=16384`, `--set sources.0.genre=code`.
Where a **kind** is asked for, the value is a mapping of `kind` and that kind's keys: `{kind: length, min_chars: 200}`.
`python flows/prepare.py CONFIG --explain` prints what is in force for each source. [Mixing](mixing.md) says more of
`mix`, [operating](operate.md) of what a nightly run does with `output` and `on_removed`.

## The file
"""

LONGEST = 100
"""Characters of a default in a table; a longer one stands below it."""

BAR = "\\|"
"""A vertical bar that does not end the cell of a table."""

GUIDES = {
    "cleaning": "cleaning.md",
    "dedup": "dedup.md",
    "tokenizer": "tokenizers.md",
    "packing": "packing.md",
    "formats": "formats.md",
    "rehearse": "rehearsal.md",
    "execution": "scaling.md",
}
"""The page that says more of a key."""

WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "null": "`null`",
}
BOUNDS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
ANCHORS = {"s3": "executions3"}
"""Where a heading is not the key alone."""


def main(arguments: list[str]) -> int:
    """Print the page."""
    Parser(
        prog="python -m gristmill reference",
        description="Print the reference of all configuration keys as Markdown.",
    ).parse_args(arguments)
    print("\n".join(page()))
    return 0


def page() -> Iterator[str]:
    """The lines of the page: the file's own keys, then a section for each key that holds kinds or keys of its own."""
    yield INTRODUCTION
    yield from _table(PrepareConfig)
    for name, field in PrepareConfig.model_fields.items():
        if room := _room(field):
            yield from ["", f"## `{name}`", "", _marked(field.description or "") + _guide(name)]
            yield from _kinds(room)
        else:
            yield from _nested(name, field, "##")


def _kinds(room: Room) -> Iterator[str]:
    """What all kinds of a room have in common, then each kind."""
    classes = [find(room.name, kind) for kind in kinds(room.name)]
    lineage = classes[0].__mro__
    base = lineage[lineage.index(Plugin) - 1]
    assert issubclass(base, Plugin)
    common = _properties(base)
    if shared := {name for name in common if any(_properties(found)[name] == common[name] for found in classes)}:
        yield from ["", "All kinds have:", "", *_table(base, shared)]
    for found in classes:
        yield from _kind(found, {name for name, told in _properties(found).items() if told != common.get(name)})
    for name, field in {name: field for found in classes for name, field in found.model_fields.items()}.items():
        yield from _nested(name, field, "###")


def _kind(found: type[Plugin], names: set[str]) -> Iterator[str]:
    """One kind with the keys that not all kinds have."""
    yield from ["", f"### `{found.kind()}`", "", _prose(found)]
    if names:
        yield from ["", *_table(found, names)]
    if issubclass(found, Cleaner) and found.genres:
        presets = [f"{genre} {_settings(values)}" for genre, values in found.genres.items()]
        yield from ["", f"What is not set, by the genre of the source: {'; '.join(presets)}."]


def _nested(name: str, field: FieldInfo, level: str) -> Iterator[str]:
    """The section of a key whose value has keys of its own; nothing for any other."""
    if model := _model(field):
        yield from ["", f"{level} `{name}`", "", _prose(model) + _guide(name), "", *_table(model)]
        for key, inner in model.model_fields.items():
            yield from _nested(f"{name}.{key}", inner, f"{level}#")


def _table(model: type[BaseModel], names: set[str] | None = None) -> Iterator[str]:
    """A row a field, all or those named; then the defaults that are too long for it."""
    below: list[str] = []
    yield from ["| key | accepts | default | what it says |", "|---|---|---|---|"]
    for name, told in _properties(model).items():
        if names is not None and name not in names:
            continue
        field = model.model_fields[name]
        default = _default(field)
        if len(default) > LONGEST:
            values = json.dumps(to_jsonable_python(field.get_default(call_default_factory=True)), indent=2)
            below += ["", f"Default of `{name}`:", "", "```json", values, "```"]
            default = "below"
        cells = [f"`{name}`", _accepts(name, field, told), default, _marked(field.description or "")]
        yield f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"
    yield from below


def _properties(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """The JSON schema of each field, without its place in a form."""
    found = model.model_json_schema().get("properties", {})
    return {name: {key: value for key, value in told.items() if key != "position"} for name, told in found.items()}


def _accepts(name: str, field: FieldInfo, told: dict[str, Any]) -> str:
    if room := _room(field):
        several = any(get_origin(part) is list for part in inside(field.annotation))
        return f"{'list of kinds' if several else 'a kind'} of [`{SECTIONS[room.name]}`](#{SECTIONS[room.name]})"
    if field.annotation is ByteSize:
        return "bytes: a number, or text like `2GB`"
    return f"mapping, see [`{name}`](#{ANCHORS.get(name, name)})" if _model(field) else _type(told)


def _type(told: dict[str, Any]) -> str:
    """Words for a JSON schema."""
    if "anyOf" in told:
        return " or ".join(_type(each) for each in told["anyOf"])
    if values := told.get("enum", [told["const"]] if "const" in told else []):
        return " or ".join(f"`{value}`" for value in values)
    if told.get("type") == "array":
        return f"list of {_type(told.get('items', {}))}{', not empty' if told.get('minItems') else ''}"
    if told.get("type") == "object":
        return f"mapping to {_type(told.get('additionalProperties', {}))}"
    words = WORDS.get(str(told.get("type")), "any value")
    bounds = [f"{word} {told[key]}" for key, word in BOUNDS.items() if key in told]
    like = [f"like `{told['pattern']}`"] if "pattern" in told else []
    return " ".join([words, *like, *bounds])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Settings) and not isinstance(value, Plugin):
        return "its defaults"
    plugins = [entry for entry in (value if isinstance(value, list) else [value]) if isinstance(entry, Plugin)]
    return ", ".join(f"`kind: {plugin.kind()}`" for plugin in plugins) or f"`{json.dumps(to_jsonable_python(value))}`"


def _guide(name: str) -> str:
    return f" [How and why]({GUIDES[name]})." if name in GUIDES else ""


def _settings(values: dict[str, Any]) -> str:
    return ", ".join(f"`{name}: {json.dumps(value)}`" for name, value in values.items())


def _prose(found: type) -> str:
    return _marked(inspect.getdoc(found) or "")


def _marked(text: str) -> str:
    """Docstrings mark code with two backticks, Markdown with one, and outside of it ``<`` would begin a tag."""
    parts = text.replace("``", "`").split("`")
    return "`".join(part if number % 2 else part.replace("<", "&lt;") for number, part in enumerate(parts))


def _room(field: FieldInfo) -> Room | None:
    """The room whose kinds a field takes."""
    return next((part for part in (*field.metadata, *inside(field.annotation)) if isinstance(part, Room)), None)


def _model(field: FieldInfo) -> type[Settings] | None:
    """The settings that a field holds, where those have no kind."""
    for part in inside(field.annotation):
        if isinstance(part, type) and issubclass(part, Settings) and not issubclass(part, Plugin):
            return part
    return None


SECTIONS = {room.name: key for key, field in PrepareConfig.model_fields.items() if (room := _room(field))}
"""Where the kinds of a room are told of: the heading is the key."""
