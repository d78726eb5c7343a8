"""Scorings as short text for addresses and file names: `query_loss/upweight;alpha=0.001/reoptimize/exact`."""

from __future__ import annotations

from typing import Any

from engine.basics.errors import InvalidInput
from engine.question.interventions import Intervention
from engine.question.processes import Process
from engine.scoring.scoring import Scoring


def encode(scoring: Scoring) -> str:
    """The code of a scoring; parameters at their default are left out, and so is the estimator `exact`."""
    parts = [scoring.behavior, _part(scoring.intervention), _part(scoring.process)]
    return "/".join(parts if scoring.estimator == "exact" else [*parts, scoring.estimator])


def decode(code: str) -> Scoring:
    """The scoring of a code. Raises `InvalidInput` for text that is not one."""
    parts = str(code).split("/")
    if len(parts) not in (3, 4) or len(code) > 300:
        raise InvalidInput(f"`{str(code)[:60]}` is not a specification code; write "
                           "behavior/intervention/process, for example `query_loss/remove/reoptimize`.")
    return Scoring.of(parts[0], _mapping(parts[1]), _mapping(parts[2]), *parts[3:])


def _part(value: Intervention | Process) -> str:
    parameters = value.model_dump(mode="json", exclude_defaults=True)
    parameters.pop("kind", None)
    return ";".join([value.kind, *(f"{key}={item!r}" if not isinstance(item, str) else f"{key}={item}"
                                   for key, item in sorted(parameters.items()))])


def _mapping(text: str) -> dict[str, Any]:
    kind, *pairs = text.split(";")
    mapping: dict[str, Any] = {"kind": kind}
    for pair in pairs:
        key, _, item = pair.partition("=")
        mapping[key] = item
    return mapping
