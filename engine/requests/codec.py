"""How answers are stored: a dataclass's tables as tables, its arrays as arrays, the rest in the manifest, by name.

Of scores the arrays are stored, and their provenance as `runs`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import cache
from math import isfinite, nan
from typing import Annotated, Any, TypeVar, cast, get_type_hints

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, PlainSerializer, TypeAdapter

from engine.basics.errors import StoreError
from engine.jobs import Output
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Result

A = TypeVar("A")
Measured = Annotated[float, BeforeValidator(lambda value: nan if value is None else value),
                     PlainSerializer(lambda value: value if isfinite(value) else None)]
"""A number that may be unknown: NaN here, null in JSON."""


def encode(answer: Any) -> Output:
    """The answer as a job leaves it."""
    tables, arrays, manifest = {}, {}, {}
    for name, hint in _hints(cast(Hashable, type(answer))).items():
        value = getattr(answer, name)
        if hint is pd.DataFrame:
            tables[name] = value
        elif hint is np.ndarray:
            arrays[name] = value
        elif hint == tuple[Scores, ...]:
            arrays |= {key: array for index, one in enumerate(value)
                       for key, array in stored_arrays(one, index).items()}
            arrays["candidates"], manifest["runs"] = value[0].candidates, [one.provenance for one in value]
        else:
            manifest[name] = TypeAdapter(hint).dump_python(value, mode="json")
    return Output(tables, arrays, manifest)


def decode(kind: type[A], result: Result) -> A:
    """The answer that `encode` stored; what an older version left out has the dataclass's default, or stands in the
    payload. Raises `StoreError` where neither is so."""
    known = {**result.manifest["payload"], **result.manifest}
    arrays, values = result.arrays(), {}
    for name, hint in _hints(cast(Hashable, kind)).items():
        if hint is pd.DataFrame and name in result.tables:
            values[name] = result.table(name)
        elif hint is np.ndarray and name in arrays:
            values[name] = arrays[name]
        elif hint == tuple[Scores, ...]:
            values[name] = tuple(read_scores(Scoring.read(run["spec"]), arrays, index, run)
                                 for index, run in enumerate(known["runs"]))
        elif name in known:
            values[name] = TypeAdapter(hint).validate_python(known[name])
        elif name in _required(cast(Hashable, kind)):
            raise StoreError(f"Result {result.digest[:12]} has no `{name}`; it was written by a different version.")
    return kind(**values)


def joined(answers: Sequence[A]) -> A:
    """One answer from several of a kind: tables, arrays (along the first axis) and tuples one after the other, of the
    rest the first."""
    values = {name: [getattr(one, name) for one in answers] for name in _hints(cast(Hashable, type(answers[0])))}
    return replace(cast(Any, answers[0]), **{
        name: pd.concat(listed, ignore_index=True) if isinstance(listed[0], pd.DataFrame)
        else np.concatenate(listed) if isinstance(listed[0], np.ndarray)
        else tuple(one for own in listed for one in own) if isinstance(listed[0], tuple) else listed[0]
        for name, listed in values.items()}) if len(answers) > 1 else answers[0]


def stored_arrays(scores: Scores, index: int) -> dict[str, np.ndarray]:
    """What a result stores of the scores of its scoring 0, 1, …, besides candidates and provenance."""
    arrays = {"values": scores.values, "converged": scores.converged, "residual": scores.residual,
              "resolved": scores.above_resolution, "error": scores.bound, "standard_error": scores.standard_error}
    return {f"{index}|{name}": array for name, array in arrays.items() if array is not None}


def read_scores(scoring: Scoring, arrays: Mapping[str, np.ndarray], index: int, provenance: dict[str, Any]) -> Scores:
    """The scores of which `stored_arrays` were stored. Values are raw, so that what an older run states of their
    orientation does not count."""
    values, converged, residual, resolved = (arrays[f"{index}|{name}"] for name in ("values", "converged", "residual",
                                                                                   "resolved"))
    return Scores(scoring, values, arrays["candidates"], converged, residual,
                  {**provenance, "orientation": scoring.orientation}, resolved, arrays.get(f"{index}|standard_error"),
                  arrays.get(f"{index}|error"))


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(cast(type, kind), include_extras=True)


@cache
def _required(kind: Hashable) -> frozenset[str]:
    return frozenset(field.name for field in fields(cast(Any, kind))
                     if field.default is MISSING and field.default_factory is MISSING)
