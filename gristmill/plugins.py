"""``{kind: length}`` in a configuration is the class in ``gristmill/<room>/length.py``; the folder is the registry.

A plugin is one public ``Plugin`` subclass defined in a module named like its kind. Modules named ``base`` or with a
leading underscore are helpers of the room.
"""

import importlib
import inspect
import pkgutil
import re
import reprlib
from typing import Any, ClassVar, Self

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ErrorDetails, PydanticCustomError, core_schema

from gristmill.addresses import public, public_text
from gristmill.errors import ConfigError, alternatives, guessed
from gristmill.settings import Settings


class Plugin(Settings):
    """A frozen, validated settings object with the behaviour it configures."""

    version: ClassVar[int] = 1
    """Raised when the same settings start to give other bytes: it is part of every fingerprint."""

    @classmethod
    def kind(cls) -> str:
        """The word in the configuration: the name of the file that defines the class."""
        return cls.__module__.rpartition(".")[2]

    def settings(self, context: Any = None) -> dict[str, Any]:
        """The plugin as a configuration would write it, JSON-able, ``kind`` first; addresses of inputs are public
        ones, unless the ``context`` is ``settings.FULL_ADDRESSES``."""
        return {"kind": self.kind(), **self.model_dump(mode="json", context=context)}

    def identity(self) -> dict[str, Any]:
        """What determines the bytes it makes, for fingerprints: the settings and the version of the code."""
        nested = {name: found for name, value in self if (found := _identities(value)) is not None}
        return {**self.settings(), **nested, "version": self.version}

    @classmethod
    def parse(cls, settings: dict[str, Any]) -> Self:
        """The plugin of this class for ``settings`` without ``kind``; raises ``ConfigError`` that lists the keys."""
        try:
            return cls.model_validate(settings)
        except ValidationError as error:
            raise ConfigError(f"{cls.kind()}: {explain(error, cls)}") from None


def _identities(value: Any) -> Any:
    """Identities of the plugins that a field holds; None where it holds something else."""
    if isinstance(value, list) and value and all(isinstance(entry, Plugin) for entry in value):
        return [entry.identity() for entry in value]
    return value.identity() if isinstance(value, Plugin) else None


class _Shown(reprlib.Repr):
    """Values of a configuration in few letters. An address is stripped before it is cut: half of one would hide from
    ``public`` what is secret in it."""

    def repr_str(self, x: str, level: int) -> str:
        return super().repr_str(public_text(public(x)), level)


_shown = _Shown().repr


def kinds(room: str) -> list[str]:
    """The kinds that ``gristmill/<room>/`` offers, sorted."""
    package = importlib.import_module(f"gristmill.{room}")
    names = (module.name for module in pkgutil.iter_modules(package.__path__) if not module.ispkg)
    return sorted(name for name in names if name != "base" and not name.startswith("_"))


def find(room: str, kind: str) -> type[Plugin]:
    """The class of a kind; raises ``ConfigError`` that lists the kinds there are."""
    if kind not in kinds(room):
        raise ConfigError(f"unknown kind {kind!r} in {room}; {alternatives(kind, kinds(room))}")
    module = importlib.import_module(f"gristmill.{room}.{kind}")
    found = [
        value
        for name, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Plugin) and value.__module__ == module.__name__ and not name.startswith("_")
    ]
    assert len(found) == 1, f"{module.__name__} must define one public Plugin class, found {found}"
    return found[0]


def fact(room: str, kind: str, name: str) -> object:
    """What the class of a kind says of itself under ``name``."""
    return getattr(find(room, kind), name)


def kinds_by_fact(room: str, name: str, value: object) -> list[str]:
    """The kinds whose class says ``value`` of itself under ``name``, sorted."""
    return [kind for kind in kinds(room) if fact(room, kind, name) == value]


def load(room: str, settings: Any) -> Plugin:
    """The plugin for ``settings`` (a mapping with ``kind``); one that is loaded already passes through."""
    if isinstance(settings, Plugin):
        return settings
    if not isinstance(settings, dict) or not isinstance(settings.get("kind"), str):
        raise ConfigError(
            f"{room}: expected a mapping with a kind ({', '.join(kinds(room))}), got {_shown(settings):.80}"
        )
    rest = {key: value for key, value in settings.items() if key != "kind"}
    return find(room, settings["kind"]).parse(rest)


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """One line for a pydantic error: the key, what is wrong with it, and the keys that are accepted."""
    found = error.errors(include_url=False)
    # A misspelt key is also missing under its right name; the misspelling is what the user has to see.
    first = next((entry for entry in found if entry["type"] == "extra_forbidden"), found[0])
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        for part in first["loc"][:-1]:
            model = _model_within(model, part)
        return f"unknown key {place!r}; {alternatives(str(first['loc'][-1]), sorted(model.model_fields))}"
    if first["type"] == "plugin":
        return f"{place}: {first['msg']}"
    message = first["msg"].removeprefix("Value error, ") + _remedy(first)
    return f"{place}: {message} (got {_shown(first.get('input')):.60})" if place else message


def _remedy(error: ErrorDetails) -> str:
    """What to write instead, where a value is of another type in YAML than it looks."""
    met = error["input"]
    match error["type"]:
        case "string_type" if met is None:
            return "; an empty value, ~ and null are nothing to YAML: put a text in quotes"
        case "string_type" if isinstance(met, bool | int | float):
            return f"; put it in quotes: '{str(met).lower()}'"
        case "list_type" if isinstance(met, str | int | float):
            return f"; put it in brackets: [{public(str(met)):.60}]"
        case "int_parsing" if (number := _whole(met)) is not None:
            return f"; write it in digits: {number}"
        case "literal_error" if isinstance(met, str):
            accepted = re.findall("'([^']*)'", error["ctx"]["expected"])
            return f"; {guess}" if (guess := guessed(met, accepted)) else ""
    return ""


def _whole(text: Any) -> int | None:
    """``1e9`` is a text to YAML."""
    try:
        number = float(text)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() and abs(number) < 1 << 63 else None


def _model_within(model: type[BaseModel], key: int | str) -> type[BaseModel]:
    """The model that a field holds, or ``model`` itself where the field holds none."""
    field = model.model_fields.get(str(key))
    inner = field.annotation if field is not None else None
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else model


class Room:
    """Marks a configuration field that holds a plugin of a room: ``Annotated[Tokenizer, Room("tokenizers")]``.

    In the JSON schema it is one of several objects, each with the fields of its kind, as a form needs it.
    """

    def __init__(self, name: str, default: str | None = None) -> None:
        self.name = name
        self.default = default
        """The kind where a configuration gives fields without one."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def validate(value: Any) -> Plugin:
            try:
                if self.default and isinstance(value, dict):
                    value = {"kind": self.default, **value}
                return load(self.name, value)
            except ConfigError as error:
                raise PydanticCustomError("plugin", "{message}", {"message": str(error)}) from error

        return core_schema.no_info_plain_validator_function(
            validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda plugin, info: plugin.settings(info.context), info_arg=True
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Prefect's form has a tab for each of the ``anyOf`` and shows a value under the first that has most of its
        keys. So kinds with the same fields share one, and those with fewer fields come first; under any other tab the
        form would add that one's defaults to the value."""
        alike: dict[frozenset[str], list[tuple[str, JsonSchemaValue]]] = {}
        for kind in kinds(self.name):
            plugin = find(self.name, kind)
            found = handler.resolve_ref_schema(handler(plugin.__pydantic_core_schema__))
            alike.setdefault(frozenset(plugin.model_fields), []).append((kind, found))
        return {"anyOf": [self._choice(dict(alike[fields])) for fields in sorted(alike, key=len)]}

    def _choice(self, alike: dict[str, JsonSchemaValue]) -> JsonSchemaValue:
        """What is to be filled in for one of these kinds, as far as they agree on their fields."""
        first, *others = alike.values()
        described = [(name, found["description"].replace("``", "")) for name, found in alike.items()]
        kind = {"title": "Kind", "type": "string", "enum": [*alike], "default": next(iter(alike)), "position": -1}
        fields = {
            name: {key: value for key, value in field.items() if all(_has(other, name, key, value) for other in others)}
            for name, field in first.get("properties", {}).items()
        }
        return {
            "title": ", ".join(alike),
            "description": "\n\n".join(f"{name}: {text}" for name, text in described) if others else described[0][1],
            "type": "object",
            "properties": {"kind": kind, **fields},
            "required": [*([] if self.default in alike else ["kind"]), *first.get("required", [])],
            "additionalProperties": False,
        }


def _has(schema: JsonSchemaValue, field: str, key: str, value: Any) -> bool:
    """Whether an object's schema says the same of a field."""
    return bool(schema["properties"][field].get(key) == value)
