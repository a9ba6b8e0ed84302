"""What every group of settings is: frozen, closed to unknown keys, shown by forms in the order it has."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from gristmill.addresses import is_secret, public
from gristmill.errors import ConfigError

FULL_ADDRESSES = {"addresses": "full"}
"""Context in which settings are dumped for a process of the same run: with the user, password and query of addresses.
Without it they are dumped as all may see them."""

_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)


def in_order(schema: dict[str, Any]) -> None:
    """Number the fields: a form sorts them by ``position``, and PostgreSQL keeps a schema's keys in another order."""
    for position, field in enumerate(schema.get("properties", {}).values()):
        field["position"] = position


def inside(annotation: Any) -> Iterator[Any]:
    """An annotation and everything that it is made of."""
    yield annotation
    for part in get_args(annotation):
        yield from inside(part)


def expanded(path: str) -> str:
    """A path with ``~``, ``~user``, ``$NAME`` and ``${NAME}`` replaced, as a shell does; raises ``ValueError`` for a
    variable that is not set and a user who is not known. What exists under the very name is meant literally."""
    if path != "~" and not path.startswith("~/") and os.path.lexists(path):
        return path
    home = str(Path(path).expanduser()) if path == "~" else os.path.expanduser(path)  # noqa: PTH111  keeps s3://
    if home.startswith("~") and "/" in path:
        raise ValueError(f"{path!r}: no user {path.partition('/')[0][1:]!r} with a home folder; write the whole path")
    braced = public(path) != path  # a password may have a $ in it
    return _VARIABLE.sub(lambda found: found[0] if braced and found[1] else _value(found[1] or found[2], path), home)


def _value(variable: str, path: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise ValueError(f"{path!r}: the environment variable {variable} is not set; set it, or write the whole path")
    return value


Location = Annotated[str, AfterValidator(expanded)]
"""A path or URI as a user writes it."""


class Settings(BaseModel):
    """Base of all that a user may set."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, json_schema_extra=in_order, use_attribute_docstrings=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _no_boolean_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """``min_chars: true`` would be 1."""
        parts = inside(cls.model_fields[str(info.field_name)].annotation)
        if any(part in (bool, Any) or (isinstance(part, type) and issubclass(part, BaseModel)) for part in parts):
            return value
        for entry in value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]:
            if isinstance(entry, bool):
                word = str(entry).lower()
                raise ValueError(f"{word} is neither a number nor a text; a text that reads so takes quotes: '{word}'")
        return value

    addresses: ClassVar[frozenset[str]] = frozenset()
    """Fields that may hold a user, a password or a signature: they are dumped without, see ``FULL_ADDRESSES``."""

    @model_validator(mode="after")
    def _open(self) -> Self:
        """Settings are kept and shown, so there is no secret in them."""
        for name, value in self:
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and name not in self.addresses and is_secret(text):
                    raise ConfigError(
                        f"{name}: the address has a user name or password in it, or a signature, which only paths of "
                        "source files may have; download the file, and give keys of S3 as AWS_ variables"
                    )
        return self


class Rehearsal(Settings):
    """A run over a sample of the input, to see what the rules do before they are let loose on all of it."""

    model_config = ConfigDict(title="Rehearsal")

    tokens: float = Field(gt=0, description="How many tokens the sample should have, about.")
    share: float | None = Field(
        None, gt=0, le=1, description="Set by the run: the share of every source that is in the sample."
    )
