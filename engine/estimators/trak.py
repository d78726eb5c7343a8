r"""TRAK: the model as a logistic regression on projected tangent features (Park et al. 2023).

An example counts as one event of probability p: for a classifier that its label is said, for a language model that its
response is, exp(−ℓ) with ℓ the mean loss of a token. With φ(z) = Rᵀ∇_θ log(p/(1 − p)) and Φ (n, k) the features of the
training set, leaving z_k out and training again changes a behavior by

    −φ_B(q)ᵀ (ΦᵀΦ + λI)⁻¹ φ(z_k) (1 − p_k),   φ_B(q) = Rᵀ∇_θ B(q),

the leave-one-out formula of that regression. R is any projector of `engine.gradients.projectors`, and λ is `ridge`
times the mean nonzero eigenvalue of ΦᵀΦ, or what a rule of `engine.estimators.ridge` chooses by the training margins.
Of M models, each with an R of its own, the kernels φ_Bᵀ(ΦᵀΦ + λI)⁻¹φ and the factors 1 − p_k are averaged, each by
itself, before they are multiplied (their equation 17, without its threshold).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, cast

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.settings import FREE, Settings, setting
from engine.basics.values import Count, Number
from engine.estimators.cost import Cost, products
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import LEFT_OUT, Named
from engine.estimators.ridge import RULES, regularised_inverse
from engine.gradients.response import Average, Term
from engine.gradients.store import Linear, NetworkEvents
from engine.problems import ModuleProblem
from engine.problems.variants import trained_on
from engine.question.likelihood import LEAST_DOUBT
from engine.question.processes import Process

DIMENSION = 512
PROJECTOR = "rademacher"
RIDGE = 1e-2
RULE = "fixed"


class TrakSettings(Settings):
    """Settings of TRAK."""

    dimension: Count = setting(
        DIMENSION, "Dimension to which gradients are projected.", "this program",
        "work in proportion where it is above the default", ge=1, le=65_536)
    projector: Literal["rademacher", "gaussian", "count_sketch", "grass"] = setting(
        PROJECTOR, "The random projection.", "Park et al. 2023", FREE)
    ridge: Number = setting(
        RIDGE, "λ as a fraction of the mean nonzero eigenvalue of ΦᵀΦ.", "this program", FREE, gt=0, le=1e6)
    ridge_rule: Literal["fixed", "gcv", "loo"] = setting(
        RULE, "Whether λ is `ridge`, or the one of 37 with which the features predict the training margins best: by "
        "generalised cross-validation, or leaving each example out.", "this program", FREE, finer="loo")
    models: Count = setting(
        1, "Models M over which kernels and 1 − p are averaged.", "this program, for its cost",
        "work in proportion, and one training per further model of `trained`", ge=1, le=1_000)
    ensemble: Literal["trained", "checkpoints"] = setting(
        "trained", "Which models: the model and others, trained with further seeds on all examples; or the last "
        "checkpoints of its one training.", "Park et al. 2023",
        "one training per further model for `trained`, none for `checkpoints`")

    @property
    def effort(self) -> float:
        return self.models * max(1.0, self.dimension / DIMENSION)

    @property
    def trainings(self) -> int:
        return self.models - 1 if self.ensemble == "trained" else 0


def left_out(problem: ModuleProblem, process: Process, candidates: Tensor, options: Options, *,
             projector: str = PROJECTOR, dimension: int = DIMENSION, ridge: float = RIDGE, ridge_rule: str = RULE,
             models: int = 1, ensemble: str = "trained") -> list[Term]:
    """For `remove`; the training features are computed once and kept on the problem. Raises `InvalidInput` where
    there are no such models."""
    def inverse_of(own: ModuleProblem, events: NetworkEvents) -> Linear:
        damping = ridge if events.ridge is None else events.ridge
        if ridge_rule in RULES:
            margins = -events.doubt.double().logit(LEAST_DOUBT)
            damping = own.memo(f"{events.key}:{ridge_rule}", lambda: RULES[ridge_rule](events.features, margins))
        return own.memo(f"{events.key}:{damping!r}", lambda: regularised_inverse(events.features, damping))

    if models == 1:
        events = problem.events(candidates, projector, dimension, options)
        return [events.term(-1.0, inverse_of(problem, events))]
    held = ENSEMBLES[ensemble](problem, models, options)
    seen = [own.events(candidates, projector, dimension, replace(options, seed=options.seed + number))
            for number, own in enumerate(held)]
    doubt = torch.stack([events.doubt for events in seen]).mean(0)
    return [Average(tuple(events.term(-1.0, inverse_of(own, events), doubt)
                          for own, events in zip(held, seen, strict=True)))]


def _trained(problem: ModuleProblem, models: int, options: Options) -> list[ModuleProblem]:
    """The model, and others that are trained with the seeds after its own; the latest are kept on the problem."""
    def build() -> list[ModuleProblem]:
        return [cast(ModuleProblem, trained_on(problem, problem.examples, options.stage(later - 1, models - 1), later))
                for later in range(1, models)]

    return [problem, *problem.memo("models of other seeds", build, models)]


def _checkpoints(problem: ModuleProblem, models: int, options: Options) -> list[ModuleProblem]:
    """The model at its last checkpoints."""
    points = problem.checkpoints[-models:]
    if len(points) < models:
        raise InvalidInput(f"TRAK needs {models} checkpoints, but this training stored {len(points)}; train "
                           "with more `checkpoints` in the recipe, or ask for `ensemble=trained`.")
    return [problem.with_network(problem.network.moved(point.theta.to(problem.theta))) for point in points]


ENSEMBLES: dict[str, Callable[[ModuleProblem, int, Options], list[ModuleProblem]]] = {
    "trained": _trained, "checkpoints": _checkpoints}


TRAK = Estimator(
    "trak", "TRAK", False,
    "Leave-one-out of a logistic regression on randomly projected gradients.",
    "Park et al. 2023", needs=("margins",), unfit_interventions=("upweight", "relabel"), settings=TrakSettings,
    routes=dict.fromkeys(("retrain", "reoptimize", "local_search"), closed_form(left_out)),
    cost=Cost(products(1)),
    named=(Named("trak", "TRAK", LEFT_OUT, "Park et al. 2023", "remove", "retrain", "soft_margin"),),
)
