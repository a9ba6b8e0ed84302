"""What every group of settings is: frozen, closed to unknown keys, shown by forms in the order it has."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


def in_order(schema: dict[str, Any]) -> None:
    """Number the fields: a form sorts them by ``position``, and PostgreSQL keeps a schema's keys in another order."""
    for position, field in enumerate(schema.get("properties", {}).values()):
        field["position"] = position


class Settings(BaseModel):
    """Base of all that a user may set."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=in_order, use_attribute_docstrings=True)


class Rehearsal(Settings):
    """A run over a sample of the input, to see what the rules do before they are let loose on all of it."""

    model_config = ConfigDict(title="Rehearsal")

    tokens: float = Field(gt=0, description="How many tokens the sample should have, about.")
    share: float | None = Field(
        None, gt=0, le=1, description="Set by the run: the share of every source that is in the sample."
    )
