"""Specifications between two others: some axes of the one, the rest of the other.

A pair of intervention and process that does not fit can still have one plain reading, because interventions are
changes of the objective. Every unfit pair without one of these readings has none, and what it would separate stays
together:

- one more occurrence, answered by what minimises the objective, is upweighting by α = 1/n;
- an infinitesimal weight, answered by re-optimisation, is the local response under the same damping;
- a weight, answered by the local response or by replay, scales the infinitesimal one, so that it ranks alike, for a
  negative α once the sign is turned (`orientation`).

Where the objective has one optimum and training ends there (softmax regression with λ > 0), two more hold:

- an infinitesimal weight, answered by retraining, is the undamped local response. Training from scratch and
  re-optimising from θ_D are one map θ*(α) then, whose derivative at α = 0 is −H⁻¹∇ℓ(z_k; θ_D) by the implicit function
  theorem;
- removal or relabelling, answered by the local response, is the derivative of the optimum of L_D + t·(L_k − L_D) at
  t = 0, with L_k the changed objective: its linear response by a factorised Hessian.

Where it has not (a network):

- an infinitesimal weight, answered by retraining, is the derivative of the training run, `replay` of the same seeds;
- removal, answered by the local response, ranks as the infinitesimal weight: its linear response is −1/n or −1/(n − 1)
  times that one, plus what re-weighting all others does, which is one number a query;
- removal with the mean over n, answered by replay, is −1/n times the derivative by the weight.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.basics.errors import InvalidInput
from engine.basics.values import capital
from engine.question.interventions import AddOccurrence, Infinitesimal, Intervention, Relabel, Remove, Upweight
from engine.question.processes import LocalResponse, Process, Reoptimize, Replay, Retrain
from engine.question.specification import fitting, misfit
from engine.scoring.scoring import Scoring

LINEAR = "cholesky"
"""The estimator that is the linear response of a finite change itself, to rounding error."""


@dataclass(frozen=True)
class Intermediate:
    """The scoring that stands between two others; None, with the reason, where there is none.

    reading: a sentence on what an unfit pair is taken for, or on why it cannot be had; empty for a fit pair.
    """

    scoring: Scoring | None
    reading: str = ""


def intermediate(behavior: str, intervention: Intervention, process: Process, n: int,
                 convex: bool = False) -> Intermediate:
    """(B, P, T), read by one of the rules above where P does not fit T.

    n: training examples. convex: whether the objective has one optimum, at which training ends.
    """
    try:
        if process.kind in fitting(intervention.kind):
            return Intermediate(Scoring.of(behavior, intervention, process))
        result = _weighed(behavior, intervention, process, n) or (
            _at_one_optimum if convex else _through_training)(behavior, intervention, process)
    except InvalidInput as error:
        return Intermediate(None, str(error))
    return result or Intermediate(None, misfit(intervention.kind, process.kind))


def _weighed(behavior: str, intervention: Intervention, process: Process, n: int) -> Intermediate | None:
    """The readings that hold for every model."""
    if isinstance(intervention, AddOccurrence) and process.whole_objective:
        return Intermediate(Scoring.of(behavior, Upweight(alpha=1.0 / n), process), (
            f"One more occurrence in {n:,} examples, answered by {process.title}, is read as upweighting by 1/{n:,}."))
    if isinstance(intervention, Infinitesimal) and isinstance(process, Reoptimize):
        return Intermediate(Scoring.of(behavior, intervention, LocalResponse(damping=process.damping)), (
            "An infinitesimal weight, answered by re-optimisation, is read as the local response with the same "
            "damping."))
    if isinstance(intervention, AddOccurrence | Upweight) and process.derivative:
        return Intermediate(Scoring.of(behavior, Infinitesimal(), process), (
            f"A weight on the example, answered by {_called(process)}, is read as the infinitesimal weight: the one is "
            f"a {'' if intervention.orientation > 0 else 'negative '}multiple of the other, and they rank alike"
            f"{'' if intervention.orientation > 0 else ' once the sign is turned'}."))
    return None


def _at_one_optimum(behavior: str, intervention: Intervention, process: Process) -> Intermediate | None:
    """The readings that hold where all training ends at the one optimum."""
    if isinstance(intervention, Infinitesimal) and isinstance(process, Retrain):
        return Intermediate(Scoring.of(behavior, intervention, LocalResponse()), (
            "An infinitesimal weight, answered by retraining, is read as the undamped local response: this model has "
            "one optimum, which training from scratch also reaches."))
    if isinstance(intervention, Remove | Relabel) and isinstance(process, LocalResponse):
        return Intermediate(Scoring.of(behavior, intervention, Reoptimize(damping=process.damping), LINEAR), (
            f"“{capital(intervention.title)}”, answered by the local response, is read as "
            "its linear response: how the optimum starts to move as the objective changes into that of the "
            "intervention."))
    return None


def _through_training(behavior: str, intervention: Intervention, process: Process) -> Intermediate | None:
    """The readings that hold where training ends wherever its steps lead."""
    if isinstance(intervention, Infinitesimal) and isinstance(process, Retrain):
        return Intermediate(Scoring.of(behavior, intervention, Replay().with_runs_of(process)), (
            "An infinitesimal weight, answered by retraining, is read as replay: the derivative of the training run "
            "with the same initial weights and batches."))
    over_n = isinstance(intervention, Remove) and intervention.normalization == "n"
    if over_n and isinstance(process, Replay) or isinstance(intervention, Remove) and isinstance(
            process, LocalResponse):
        return Intermediate(Scoring.of(behavior, Infinitesimal(), process), (
            f"Removal, answered by {_called(process)}, is read as the infinitesimal weight: to first order the one is "
            "a negative multiple of the other, except for one number per query, and they rank alike once the sign is "
            "flipped."))
    return None


def _called(process: Process) -> str:
    return "the local response" if isinstance(process, LocalResponse) else process.title
