"""Scorings as short text for addresses and file names: `query_loss/upweight;alpha=0.001/reoptimize/exact`.

Of the words that a behavior carries, what would not stand on one line between slashes is percent-encoded:
`span:no lungs/remove/retrain`, `contrast:yes%2Fno/remove/retrain`. The code of a baseline is its name: `random`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from engine.basics.errors import InvalidInput
from engine.estimators.external import NAME as EXTERNAL
from engine.question import worded
from engine.question.interventions import Intervention
from engine.question.processes import Process
from engine.scoring.scoring import Scoring, is_baseline

LONGEST = 300
"""Characters of a code that carries no words of a user's."""
ENCODED = str.maketrans({"%": "%25", "/": "%2F", "\n": "%0A"})
LONGEST_WORDED = LONGEST + 3 * worded.LONGEST


def encode(scoring: Scoring) -> str:
    """The code of a scoring; parameters at their default are left out, and so is the estimator `exact`."""
    if not scoring.route.implies:
        return scoring.estimator
    behavior = scoring.behavior.translate(ENCODED) if scoring.readout.words else scoring.behavior
    fields = [behavior, _encoded(scoring.intervention), _encoded(scoring.process)]
    return "/".join(fields if scoring.estimator == "exact" else [*fields, scoring.estimator])


def decode(code: str) -> Scoring:
    """The scoring of a code. Raises `InvalidInput` for text that is not one."""
    if is_baseline(str(code)):
        return Scoring.parse({"estimator": str(code)})
    items = str(code).split("/")
    behavior = unquote(items[0])
    spelled = worded.SPELLED.fullmatch(behavior)
    longest = LONGEST_WORDED if spelled or items[-1].startswith(f"{EXTERNAL};") else LONGEST
    if len(items) not in (3, 4) or len(code) > longest:
        raise InvalidInput(f"`{str(code)[:60]}` is not a specification code; write "
                           "behavior/intervention/process, for example `query_loss/remove/reoptimize`.")
    return Scoring.of(behavior if spelled else items[0], _mapping(items[1]), _mapping(items[2]), *items[3:])


def _encoded(value: Intervention | Process) -> str:
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
