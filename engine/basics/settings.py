"""Settings of a method, or of a training: what decides its numbers beside the question, each declared once with
default, range, help and source, and with what it costs. Pages, commands and the schema in JSON read the declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from pydantic import Field

from engine.basics.errors import InvalidInput
from engine.basics.registry import unknown
from engine.basics.values import Value

EXCLUSIVE = 1e-9
"""How far from a bound that is not allowed itself a number is still allowed."""


GROWS, FREE = "work in proportion", "none"


def setting(default: Any, description: str, source: str, cost: str, finer: float | str = "", **bounds: Any) -> Any:
    """A field of `Settings` or of a recipe. description: what it is, in a sentence. source: where the default is from;
    `...` where there is none. cost: what a larger value, or another, costs. finer: the text that is closer to exact, or
    by how much a number is multiplied for that, where this is no matter of work in proportion. bounds: `ge`, `gt`,
    `le`, `lt` of a number."""
    return Field(default, description=f"{description} Default: {source}. Cost: {cost}.",
                 json_schema_extra={"source": source, "cost": cost, **({"finer": finer} if finer else {})}, **bounds)


@dataclass(frozen=True)
class Declared:
    """What is declared of a setting. kind: bool, int, float or str. default: None where one has to be given.
    description: what it is, with the source of the default and the cost. low, high: what a number may be. options: what
    a text may be, any where empty."""

    name: str
    kind: type
    default: Any
    description: str
    low: float | None
    high: float | None
    options: tuple[str, ...]
    source: str
    cost: str
    finer: float | str = ""

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")


KINDS = {"boolean": bool, "integer": int, "number": float, "string": str}


@lru_cache(maxsize=256)
def declared(of: type[Value]) -> Mapping[str, Declared]:
    """The declarations of a value's fields, by name: first those of the class itself, in its order."""
    schemas = of.model_json_schema()["properties"]
    own = [name for name in of.__annotations__ if name in schemas]
    return {name: _declared(name, schemas[name]) for name in dict.fromkeys([*own, *schemas])}


def _declared(name: str, schema: Mapping[str, Any]) -> Declared:
    kind = KINDS[schema["type"]]
    low, high = (schema.get(bound, schema[without] - sign * EXCLUSIVE if without in schema else None)
                 for bound, without, sign in (("minimum", "exclusiveMinimum", -1), ("maximum", "exclusiveMaximum", 1)))
    return Declared(name, kind, schema.get("default"), schema.get("description", ""), low, high,
                    tuple(schema.get("enum", ())), schema.get("source", ""), schema.get("cost", ""),
                    schema.get("finer", ""))


class Settings(Value):
    """Settings as a value; a subclass has a field each. Their text is `iterations=1000;averaged=10`: in the order of
    the fields, without those at their default."""

    @property
    def effort(self) -> float:
        """Work relative to that with the defaults."""
        return 1.0

    @property
    def trainings(self) -> int:
        """How many models are trained besides."""
        return 0

    @property
    def costs(self) -> str:
        """What they cost beside the defaults, in words; empty where that is the same."""
        work = f"about {self.effort:.2g} times the work of the defaults" if self.effort != 1 else ""
        more = f"{self.trainings} more training{'s' * (self.trainings > 1)} of the model" if self.trainings else ""
        return " and ".join(filter(None, [work, more]))

    @property
    def changed(self) -> dict[str, Any]:
        """Those that are not at their default."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def text(self) -> str:
        return ";".join(f"{name}={value!r}" if not isinstance(value, str) else f"{name}={value}"
                        for name, value in self.changed.items())

    @property
    def words(self) -> str:
        """As a title says them: `1,000 iterations`, `dimension 2,048`."""
        return ", ".join(_worded(name, value) for name, value in self.changed.items())

    @classmethod
    def read(cls, given: Mapping[str, Any], of: str) -> Self:
        """Settings out of plain data, texts of numbers among them. Raises `InvalidInput` with what there is."""
        for name in given:
            if name not in cls.model_fields:
                raise InvalidInput(unknown(f"{of} setting", name, cls.model_fields))
        return cls.parse({name: _number(value) for name, value in given.items()})


def parsed(text: str) -> tuple[str, dict[str, str]]:
    """(name, settings) of `lissa;iterations=1000`."""
    name, *pairs = str(text).split(";")
    return name, {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


COUNTED = ("iterations", "segments", "points", "steps", "models")


def _worded(name: str, value: Any) -> str:
    number = f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else value
    return f"{number} {name}" if name in COUNTED else f"{name.replace('_', ' ')} {number}"


def _number(value: Any) -> Any:
    """A text of a number as the number; anything else as it is."""
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
