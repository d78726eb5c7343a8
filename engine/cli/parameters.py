"""Options that commands share: a command's parameter that is a dataclass becomes one option for each of its fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, get_type_hints


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of each dataclass among its parameters in that parameter's place.

    A field that is a dataclass is spread in turn. The annotations of the fields declare the options; two with one name
    in a command are refused by Python with a `ValueError`.
    """
    parameters = inspect.signature(command, eval_str=True).parameters

    def spreading(**given: Any) -> None:
        command(**{name: _value(name, one.annotation, given) for name, one in parameters.items()})

    declared: Any = wraps(command)(spreading)
    declared.__signature__ = Signature([option for one in parameters.values() for option in _parts(one)])
    return declared


def _parts(parameter: Parameter) -> Iterator[Parameter]:
    """The parameter itself, or those that it stands for; all by keyword, as the fields' defaults may come first."""
    if not is_dataclass(parameter.annotation):
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(parameter.annotation, include_extras=True)
    for field in fields(parameter.annotation):
        yield from _parts(Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default,
                                    annotation=hints[field.name]))


def _value(name: str, kind: type, given: Mapping[str, Any]) -> Any:
    """What was given for a parameter, or the value of a dataclass from what was given for its fields."""
    if not is_dataclass(kind):
        return given[name]
    hints = get_type_hints(kind)
    return kind(**{field.name: _value(field.name, hints[field.name], given) for field in fields(kind)})
