"""The contract that every plugin of every room keeps, and the registry that finds them.

A new kind is found by its file and needs no line here.
"""

import importlib
import json
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

import gristmill
from gristmill import plugins
from gristmill.config import PrepareConfig, parse
from gristmill.errors import ConfigError, alternatives
from gristmill.plugins import Plugin

ROOMS = ["cleaning", "dedup", "formats", "ordering", "packing", "sources", "splits", "tokenizers"]
KINDS = [(room, kind) for room in ROOMS for kind in plugins.kinds(room)]
LEAST: dict[str, dict[str, Any]] = {
    "cleaning.language": {"languages": ["en"]},
    "cleaning.model_score": {"backend": "kenlm", "path": "m.arpa", "max": 500},
    "cleaning.python": {"function": "module:function"},
    "tokenizers.huggingface": {"path": "t.json"},
    "tokenizers.tiktoken": {"path": "t.tiktoken", "encoding": "gpt2"},
}
"""Settings of kinds whose fields do not do without one another, or do not take any value of their type."""

every = pytest.mark.parametrize(("room", "kind"), KINDS, ids=[f"{room}.{kind}" for room, kind in KINDS])


def least(room: str, kind: str) -> dict[str, Any]:
    """The fewest settings that make a plugin: a value by type for each field that has no default."""
    values = {"string": "name", "array": ["name"], "integer": 1, "number": 1.0, "boolean": True, "object": {}}
    schema = plugins.find(room, kind).model_json_schema()
    required = {name: values[schema["properties"][name]["type"]] for name in schema.get("required", [])}
    return {"kind": kind, **required, **LEAST.get(f"{room}.{kind}", {})}


def example(room: str, kind: str) -> Plugin:
    return plugins.load(room, least(room, kind))


def has_plugins(base: str) -> bool:
    """Whether a module defines the base of a plugin group; that of the runners defines a protocol."""
    found = vars(importlib.import_module(base)).values()
    return any(isinstance(one, type) and issubclass(one, Plugin) and one.__module__ == base for one in found)


def test_every_room_is_here() -> None:
    """A new room that is not listed would have plugins that nothing checks."""
    packages = [module.name for module in pkgutil.iter_modules(gristmill.__path__) if module.ispkg]
    with_base = [name for name in packages if (Path(gristmill.__path__[0]) / name / "base.py").exists()]
    with_plugins = [name for name in with_base if has_plugins(f"gristmill.{name}.base")]
    assert sorted(with_plugins) == ROOMS
    assert len(KINDS) > 20


@every
def test_settings_survive_json(room: str, kind: str) -> None:
    """A server and a worker get the configuration as JSON: what is lost there changes the output."""
    plugin = example(room, kind)
    settings = plugin.settings()
    assert next(iter(settings)) == "kind"
    again = plugins.load(room, json.loads(json.dumps(settings)))
    assert again == plugin
    assert again.settings() == settings
    assert json.loads(json.dumps(again.identity())) == again.identity()


@every
def test_a_plugin_survives_pickle(room: str, kind: str) -> None:
    """Dask and Ray send it so."""
    plugin = example(room, kind)
    assert pickle.loads(pickle.dumps(plugin)) == plugin


@every
def test_a_plugin_says_what_it_does(room: str, kind: str) -> None:
    """Its docstring is the manual of the kind; one inherited from the base class says nothing."""
    found = plugins.find(room, kind)
    assert len(found.__doc__ or "") > 20
    assert found.__doc__ not in [base.__doc__ for base in found.__mro__[1:]]


@every
def test_a_plugin_has_a_test_of_its_own(room: str, kind: str) -> None:
    """A rule that nothing tests may drop anything."""
    assert (Path(__file__).parent / room / f"test_{kind}.py").is_file()


@every
def test_a_plugin_is_no_mapping(room: str, kind: str) -> None:
    """Prefect looks for task inputs in anything with ``keys`` and would call it as if it were a dict."""
    plugin = example(room, kind)
    assert [name for name in ("keys", "values", "items") if hasattr(plugin, name)] == []


@every
def test_a_plugin_cannot_be_changed(room: str, kind: str) -> None:
    """Settings that changed after the fingerprint was taken would make other bytes under the same name."""
    plugin = example(room, kind)
    assert plugin.model_config["frozen"]
    name = next(iter(type(plugin).model_fields), None)
    if name is not None:
        with pytest.raises(ValueError, match="frozen"):
            setattr(plugin, name, getattr(plugin, name))


@every
def test_an_unknown_key_is_refused_with_the_keys_there_are(room: str, kind: str) -> None:
    """A misspelt threshold that was ignored would leave the default in force."""
    with pytest.raises(ConfigError) as caught:
        plugins.load(room, {**least(room, kind), "tresholdd": 1})
    fields = sorted(plugins.find(room, kind).model_fields)
    assert str(caught.value) == f"{kind}: unknown key 'tresholdd'; {alternatives('tresholdd', fields)}"


@every
def test_the_version_is_part_of_the_identity(room: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs of old code would be reused after a rule was mended."""
    plugin = example(room, kind)
    before = plugin.identity()
    monkeypatch.setattr(type(plugin), "version", before["version"] + 1)
    assert plugin.identity() == {**before, "version": before["version"] + 1}
    assert "version" not in plugin.settings()


def test_the_version_of_a_rule_within_a_source_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules can differ by source: a mended one must change the configuration's fingerprint there too."""
    own = {"kind": "files", "paths": ["x"], "cleaning": [{"kind": "length"}]}
    config = parse({"sources": [own], "cleaning": []})
    before = config.fingerprint()
    rule = plugins.find("cleaning", "length")
    monkeypatch.setattr(rule, "version", rule.version + 1)
    assert config.fingerprint() != before


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("kind", ["lenght", "base", "_tables", "", "../errors", "a.b"])
def test_an_unknown_kind_is_refused_with_the_kinds_there_are(room: str, kind: str) -> None:
    """Helper modules and paths are no kinds."""
    with pytest.raises(ConfigError) as caught:
        plugins.find(room, kind)
    assert str(caught.value) == f"unknown kind {kind!r} in {room}; {alternatives(kind, plugins.kinds(room))}"


@pytest.mark.parametrize("settings", ["exact", None, 5, [], {}, {"kind": 5}, {"kind": None}])
def test_something_that_is_no_plugin_is_refused_with_the_kinds(settings: Any) -> None:
    """``tokenizer: gpt2`` must say what was expected there."""
    with pytest.raises(ConfigError, match=r"expected a mapping with a kind .*bytes, characters, huggingface"):
        plugins.load("tokenizers", settings)


def test_a_loaded_plugin_passes_through() -> None:
    plugin = example("dedup", "exact")
    assert plugins.load("dedup", plugin) is plugin


def test_a_value_of_the_wrong_type_is_named_with_what_was_met() -> None:
    with pytest.raises(ConfigError, match=r"length: min_chars: .*got 'many'"):
        plugins.load("cleaning", {"kind": "length", "min_chars": "many"})


def choices(room: str) -> list[dict[str, Any]]:
    """What a form offers for a plugin of a room."""
    fields = {"splits": "split", "tokenizers": "tokenizer"}
    schema = PrepareConfig.model_json_schema()["properties"][fields.get(room, room)]
    return list(schema.get("items", schema)["anyOf"])


def shown(settings: dict[str, Any], offered: list[dict[str, Any]]) -> dict[str, Any]:
    """The choice under which Prefect's form shows a value: the first of those with most of its keys."""
    return max(offered, key=lambda choice: len(choice["properties"].keys() & settings.keys()))


@every
def test_a_form_shows_a_plugin_under_its_own_kind(room: str, kind: str) -> None:
    """Shown under another, it would get that one's defaults and be refused, or be something else."""
    choice = shown(example(room, kind).settings(), choices(room))
    assert kind in choice["properties"]["kind"]["enum"]
    assert kind in choice["title"]
    assert choice["properties"].keys() - {"kind"} == plugins.find(room, kind).model_fields.keys()
    positions = [field["position"] for field in choice["properties"].values()]
    assert positions == sorted(set(positions))


def test_a_form_knows_every_kind_and_every_default() -> None:
    """A kind that is not offered cannot be chosen; a list without its default looks as if nothing would be done."""
    for room in ROOMS:
        offered = [kind for choice in choices(room) for kind in choice["properties"]["kind"]["enum"]]
        assert sorted(offered) == plugins.kinds(room)
    schema = PrepareConfig.model_json_schema()["properties"]
    assert {name: field["default"] for name, field in schema.items() if name != "execution"} == {
        name: value for name, value in PrepareConfig().model_dump(mode="json").items() if name != "execution"
    }
    json.dumps(TypeAdapter(PrepareConfig).json_schema(mode="serialization"))


IMPORT_ALL = """
import importlib, pkgutil, sys
import gristmill
names = [module.name for module in pkgutil.walk_packages(gristmill.__path__, "gristmill.")]
for name in names:
    importlib.import_module(name)
print(len(names), sorted(name for name in sys.modules if name.partition(".")[0] == "prefect"))
"""


def test_no_module_of_the_library_imports_prefect() -> None:
    """It costs seconds of CPU in every worker process, and a notebook must not need a server."""
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    count, _, prefect = done.stdout.strip().partition(" ")
    assert done.returncode == 0, done.stderr
    assert int(count) > 50
    assert prefect == "[]"
