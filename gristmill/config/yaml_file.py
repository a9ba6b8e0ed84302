"""The file that a user writes, and the settings that a command line lays over it."""

import re
from pathlib import Path
from typing import Any

import yaml

from gristmill.config import PrepareConfig, parse
from gristmill.errors import ConfigError

LARGEST_BYTES = 1 << 20
MOST_VALUES = 100_000
"""Of a configuration, aliases counted as often as they are used: ten lines of nested ones stand for billions."""

_BOOLEAN = re.compile("(?:true|True|TRUE|false|False|FALSE)$")
_OCTAL = re.compile(r"[-+]?0[0-9_]+")
_CLOCK = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")


def read(path: str | None, settings: dict[str, Any]) -> PrepareConfig:
    """The configuration in a YAML file (None: all defaults) with ``settings`` laid over it.

    ``settings`` maps dotted keys (``tokenizer.vocab_size``, ``sources.0.paths``) to values.
    """
    document = {} if path is None else _document(Path(path))
    defaults = PrepareConfig().model_dump(mode="json")
    for key, value in sorted(settings.items(), key=lambda setting: not setting[0].endswith(".kind")):
        top = key.partition(".")[0]
        if top != key and top in defaults and isinstance(document, dict):
            document.setdefault(top, _bare(defaults[top]))
        _assign(document, key, value)
    return parse(document, path or "default configuration")


def _bare(value: Any) -> Any:
    """Default plugins without their settings: another kind that is laid over one must not inherit its seed or size."""
    if value is None:
        return {}
    if isinstance(value, list):
        return [_bare(entry) for entry in value]
    return {"kind": value["kind"]} if isinstance(value, dict) and "kind" in value else value


def _document(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_BYTES + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error}") from None
    if len(text) > LARGEST_BYTES:
        raise ConfigError(f"{path}: cannot read the configuration: over {LARGEST_BYTES:,} bytes; give a YAML file")
    document = parsed(text, str(path))
    return {} if document is None else document


def parsed(text: str, origin: str) -> Any:
    """The value that a YAML text stands for; raises ``ConfigError`` that names ``origin`` and the line.

    As in YAML 1.2, ``yes``, ``no``, ``on``, ``off``, dates and times of day are texts: Norwegian is ``no``.
    """
    loader = _StrictLoader(text)
    loader.name = origin  # in the place of an error
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _size(node, {})
        return loader.construct_document(node)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ConfigError(f"{origin}: not valid YAML: {' '.join(str(error).split())[:300]}") from None
    finally:
        loader.dispose()


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node stands for. ``known``: by the id of nodes seen so far; 0 while one is being counted."""
    if id(node) in known:
        if not known[id(node)]:
            raise yaml.constructor.ConstructorError(None, None, "an alias stands for what holds it", node.start_mark)
        return known[id(node)]
    known[id(node)] = 0
    children = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
    size = 1 if isinstance(node, yaml.ScalarNode) else 1 + sum(_size(child, known) for child in children)
    if size > MOST_VALUES:
        raise yaml.constructor.ConstructorError(
            None, None, f"over {MOST_VALUES:,} values, aliases counted as often as they are used", node.start_mark
        )
    known[id(node)] = size
    return size


class _StrictLoader(yaml.SafeLoader):
    """Refuses what YAML 1.1 would silently turn into something else than what is written."""

    yaml_implicit_resolvers = {  # noqa: RUF012  as the library declares it
        first: [(tag, pattern) for tag, pattern in found if not tag.endswith((":bool", ":timestamp"))]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Of a key written twice the first would be lost."""
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is repeated", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_number(self, node: yaml.ScalarNode) -> Any:
        """``010`` would be 8; ``1:30``, which would be 90, is a text."""
        text = str(node.value)
        if _CLOCK.fullmatch(text):
            return text
        if _OCTAL.fullmatch(text) and text.strip("-+0_"):
            raise yaml.constructor.ConstructorError(
                None,
                None,
                f"{text} is octal in YAML; write {int(text)} for the number, '{text}' for the text",
                node.start_mark,
            )
        return self.construct_yaml_int(node) if node.tag.endswith(":int") else self.construct_yaml_float(node)


_StrictLoader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOLEAN, list("tTfF"))
for _kind in ("int", "float"):
    _StrictLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _StrictLoader.construct_number)


def _assign(document: Any, key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for name in parents:
        document = _step(document, name, key)
    if isinstance(document, list) and last.isdigit() and int(last) < len(document):
        document[int(last)] = value
    elif isinstance(document, dict):
        if last == "kind" and document.get("kind") != value:
            document.clear()  # the fields of another kind mean nothing to this one
        document[last] = value
    else:
        raise ConfigError(f"--set {key}: there is no {last!r} to set")


def _step(document: Any, name: str, key: str) -> Any:
    if isinstance(document, list) and name.isdigit() and int(name) < len(document):
        return document[int(name)]
    if isinstance(document, dict):
        return document.setdefault(name, {})
    raise ConfigError(f"--set {key}: there is no {name!r} to step into")
