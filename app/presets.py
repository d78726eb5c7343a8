"""Comparisons to start from. Each varies one thing and says what to look for; a new one is one entry here."""

from __future__ import annotations

from dataclasses import dataclass

from engine.behaviors import BEHAVIORS
from engine.errors import InvalidInput
from engine.estimators import ESTIMATORS
from engine.experiments import controlled
from engine.named import NAMED
from engine.problems import SoftmaxProblem
from engine.scoring import Scoring

SOLVED = controlled.upweight_scoring("query_loss", 1e-3)


@dataclass(frozen=True)
class Preset:
    """Some scorings under a title. note: what to look for, in a sentence. pair: the two that are opened first."""

    name: str
    title: str
    note: str
    scorings: tuple[Scoring, ...]
    pair: tuple[int, int] = (0, 1)


def _behaviors() -> tuple[Scoring, ...]:
    return tuple(controlled.step_scoring(name, controlled.ETA) for name, behavior in BEHAVIORS.items()
                 if behavior.differentiable)


def _interventions() -> tuple[Scoring, ...]:
    return (controlled.removal_scoring("n-1"), controlled.removal_scoring("n"),
            *(controlled.upweight_scoring("query_loss", alpha) for alpha in (1e-5, 1e-3, 1e-1)),
            Scoring.of("query_loss", {"kind": "relabel", "label": 0}, {"kind": "reoptimize"}))


def _processes() -> tuple[Scoring, ...]:
    trajectory = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "trajectory", "eta": controlled.ETA})
    return (controlled.step_scoring("query_loss", controlled.ETA), controlled.unrolled_scoring(), trajectory,
            controlled.response_scoring("query_loss", controlled.DAMPING),
            controlled.response_scoring("query_loss", 0.0), SOLVED)


def _table_a6() -> tuple[Scoring, ...]:
    behaviors = ("query_loss", "soft_margin", "hard_margin", "query_logit")
    return (*(controlled.step_scoring(behavior, controlled.ETA) for behavior in behaviors),
            controlled.unrolled_scoring(), controlled.response_scoring("query_loss", controlled.DAMPING),
            controlled.removal_scoring("n-1"),
            *(controlled.upweight_scoring("query_loss", alpha) for alpha in controlled.ALPHAS))


def _solvers() -> tuple[Scoring, ...]:
    """Every estimator that can target the question of SOLVED."""
    target = SOLVED.specification
    return tuple(Scoring.of(target.behavior, target.intervention, target.process, name)
                 for name, estimator in ESTIMATORS.items() if estimator.refusal(target, SoftmaxProblem.kind) is None)


def _named() -> tuple[Scoring, ...]:
    return tuple(method.implied() for method in NAMED.values() if method.answers(SoftmaxProblem.kind))


def _all() -> tuple[Preset, ...]:
    first = tuple(controlled.step_scoring(behavior, controlled.ETA)
                  for behavior in ("query_loss", "hard_margin", "query_logit"))
    return (
        Preset("first", "First look", "Three behaviors after the same step, and the influence function: four exact "
               "answers to four questions. Look at how little the influence function agrees with the steps.",
               (*first, controlled.response_scoring("query_loss", 0.0)), (0, 3)),
        Preset("vary-b", "Vary B", "One step, read off by every behavior that has a gradient. Soft margin and "
               "probability rank exactly as query loss does; the logit does not.", _behaviors(), (0, 1)),
        Preset("vary-p", "Vary P", "What is done to the example: removed, upweighted a little or a lot, relabelled; "
               "always re-optimised.", _interventions(), (0, 4)),
        Preset("vary-t", "Vary T", "How training answers: a step, several steps, a trajectory, the optimum's local "
               "response, a new optimum. P changes too where a process can only carry out another intervention.",
               _processes(), (0, 4)),
        Preset("table-a6", "Table A-6", "Every specification of the paper's Table A-6: four behaviors after one step, "
               "five steps, the damped local response, leave-one-out and five upweightings.", _table_a6(), (6, 11)),
        Preset("table-1", "Named methods", "The estimators of the paper's Table 1 by their usual names, each with the "
               "specification that it implies.", _named(), (1, 3)),
        Preset("solvers", "Same question, different solvers", "One question: upweight by α = 0.001 and re-optimise, "
               "answered exactly and by every approximation on offer. All disagreement here is approximation error.",
               _solvers(), (0, 2)),
    )


PRESETS = {preset.name: preset for preset in _all()}


def preset(name: str) -> Preset:
    """Raises `InvalidInput` for a name that does not exist."""
    if name not in PRESETS:
        raise InvalidInput(f"There is no preset `{name[:40]}`; choose one of {', '.join(PRESETS)}.")
    return PRESETS[name]


def matching(scorings) -> str | None:
    """The name of the preset that holds exactly these scorings in this order."""
    return next((name for name, found in PRESETS.items() if found.scorings == tuple(scorings)), None)
