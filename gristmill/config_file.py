"""The file that a user writes, and the settings that a command line lays over it."""

from pathlib import Path
from typing import Any

import yaml

from gristmill.config import PrepareConfig, parse
from gristmill.errors import ConfigError


def read(path: str | None, settings: dict[str, Any]) -> PrepareConfig:
    """The configuration in a YAML file (None: all defaults) with ``settings`` laid over it.

    ``settings`` maps dotted keys (``tokenizer.vocab_size``, ``sources.0.paths``) to values.
    """
    document = {} if path is None else _yaml(Path(path))
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


def _yaml(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error}") from None
    try:
        document = yaml.load(text, Loader=_StrictLoader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())[:300]}") from None
    return {} if document is None else document


class _StrictLoader(yaml.SafeLoader):
    """A key written twice would silently lose the first: refuse it."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        for key, _ in node.value:
            if names.count(key.value) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is repeated", key.start_mark)
        return super().construct_mapping(node, deep)


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
