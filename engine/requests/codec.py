"""How answers are stored: a dataclass's tables as tables, its arrays as arrays, the rest in the manifest, by name."""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import cache
from math import isfinite, nan
from typing import Annotated, Any, TypeVar, get_type_hints

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, PlainSerializer, TypeAdapter

from engine.basics.errors import StoreError
from engine.jobs import Output
from engine.store.results import Result

A = TypeVar("A")
Measured = Annotated[float, BeforeValidator(lambda value: nan if value is None else value),
                     PlainSerializer(lambda value: value if isfinite(value) else None)]
"""A number that may be unknown: NaN here, null in JSON."""


def encode(answer: Any) -> Output:
    """The answer as a job leaves it."""
    tables, arrays, manifest = {}, {}, {}
    for name, hint in _hints(type(answer)).items():
        value = getattr(answer, name)
        if hint is pd.DataFrame:
            tables[name] = value
        elif hint is np.ndarray:
            arrays[name] = value
        else:
            manifest[name] = TypeAdapter(hint).dump_python(value, mode="json")
    return Output(tables, arrays, manifest)


def decode(kind: type[A], result: Result) -> A:
    """The answer that `encode` stored; what an older version left out has the dataclass's default, or stands in the
    payload. Raises `StoreError` where neither is so."""
    told = {**result.manifest["payload"], **result.manifest}
    arrays, values = result.arrays(), {}
    for name, hint in _hints(kind).items():
        if hint is pd.DataFrame and name in result.tables:
            values[name] = result.table(name)
        elif hint is np.ndarray and name in arrays:
            values[name] = arrays[name]
        elif name in told:
            values[name] = TypeAdapter(hint).validate_python(told[name])
        elif name in _needed(kind):
            raise StoreError(f"Result {result.digest[:12]} has no `{name}`; it was written by another version.")
    return kind(**values)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _needed(kind: Any) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind)
                     if field.default is MISSING and field.default_factory is MISSING)
