"""Settings of a method: what decides its numbers beside the question, each with default, range, source and effort."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field

from engine.basics.errors import InvalidInput
from engine.basics.registry import unknown
from engine.basics.values import Value


def setting(default: Any, description: str, source: str, **bounds: Any) -> Any:
    """A field of `Settings`. description: what it is, in a sentence. source: where the default is from. bounds: `ge`,
    `gt`, `le`, `lt` of a number."""
    return Field(default, description=f"{description} Default: {source}.", **bounds)


class Settings(Value):
    """Settings as a value; a subclass has a field each. Their text is `iterations=1000;averaged=10`: in the order of
    the fields, without those at their default."""

    @property
    def effort(self) -> float:
        """Work relative to that with the defaults."""
        return 1.0

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


COUNTED = ("iterations", "segments", "points", "steps")


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
