r"""TRAK: the model as a logistic regression on projected tangent features (Park et al. 2023).

An example counts as one event of probability p: for a classifier that its label is said, for a language model that its
response is, exp(−ℓ) with ℓ the mean loss of a token. With φ(z) = Rᵀ∇_θ log(p/(1 − p)) and Φ (n, k) the features of the
training set, leaving z_k out and training again changes a behavior by

    −φ_B(q)ᵀ (ΦᵀΦ + λI)⁻¹ φ(z_k) (1 − p_k),   φ_B(q) = Rᵀ∇_θ B(q),

the leave-one-out formula of that regression. R is any projector of `engine.estimators.projectors`, and λ is `ridge`
times the mean nonzero eigenvalue of ΦᵀΦ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from engine.basics.options import Options
from engine.basics.settings import Settings, setting
from engine.basics.values import Count, Number
from engine.estimators.cost import Cost, products
from engine.estimators.estimator import Estimator
from engine.estimators.held import Features, Linear, Term
from engine.estimators.named import LEFT_OUT, Named
from engine.estimators.projectors import PROJECTORS, Map, checked_dimension
from engine.estimators.ridge import regularised_inverse
from engine.exact.response import GradientPart, Response
from engine.gradients.per_example import behavior_gradients
from engine.problems import ModuleProblem
from engine.problems.causal import LEAST_DOUBT
from engine.question.interventions import Intervention
from engine.question.processes import LocalSearch, Reoptimize, Retrain

DIMENSION = 512
PROJECTOR = "rademacher"
RIDGE = 1e-2


class TrakSettings(Settings):
    """Settings of TRAK."""

    dimension: Count = setting(DIMENSION, "Numbers that a gradient is projected to.", "this program", ge=1, le=65_536)
    projector: Literal["rademacher", "gaussian", "count_sketch"] = setting(
        PROJECTOR, "The random projection.", "Park et al. 2023")
    ridge: Number = setting(RIDGE, "λ as a fraction of the mean nonzero eigenvalue of ΦᵀΦ.", "this program", gt=0,
                            le=1e6)

    @property
    def effort(self) -> float:
        return max(1.0, self.dimension / DIMENSION)


def respond(problem: ModuleProblem, interventions: Sequence[Intervention], process: Reoptimize | LocalSearch | Retrain,
            candidates: Tensor, options: Options, *, projector: str = PROJECTOR, dimension: int = DIMENSION,
            ridge: float = RIDGE) -> list[Response]:
    """One response for `remove`; the training features are computed once and kept on the problem."""
    name, k = PROJECTORS[projector].name, checked_dimension(dimension)
    features, doubt = problem.memo(f"trak:{name}:{k}:{options.seed}", lambda: _features(problem, name, k, options))
    solve = problem.memo(f"trak:{name}:{k}:{options.seed}:{ridge!r}", lambda: regularised_inverse(features, ridge))
    targets = solve(features[candidates].double()) * doubt[candidates][:, None].double()
    drawn = _draw(problem, name, k, options)

    def products(signal: Tensor) -> Tensor:
        return -(_project(problem, problem.queries, signal, drawn, options).double() @ targets.T)

    return [Response.closed_form(GradientPart(problem.query_logits, products, len(candidates)))
            for _ in interventions]


def _features(problem: ModuleProblem, projector: str, k: int, options: Options) -> tuple[Tensor, Tensor]:
    """Φ (n, k) and 1 − p (n,)."""
    parts, doubts, drawn = [], [], _draw(problem, projector, k, options)
    for rows in torch.arange(problem.n, device=problem.device).split(512):
        options.check()
        signal, doubt = problem.margins(rows)
        parts.append(_project(problem, problem.x[rows], signal, drawn, options))
        doubts.append(doubt)
    return torch.cat(parts), torch.cat(doubts)


def _draw(problem: ModuleProblem, projector: str, k: int, options: Options) -> Map:
    """R of the problem's gradients."""
    return PROJECTORS[projector].draw((problem.parameters,), k, (options.seed,), problem.device)


def _project(problem: ModuleProblem, x: Tensor, signal: Tensor, drawn: Map, options: Options) -> Tensor:
    """Rᵀ J_xᵀ s for every row, (b, k), a chunk of gradients at a time."""
    width = max(1, options.budget // 8 // (problem.theta.element_size() * problem.parameters))
    return torch.cat([drawn(behavior_gradients(problem, part, own, budget=options.budget // 4))
                      for part, own in zip(x.split(width), signal.split(width), strict=True)])


def held(features: Features, behavior: str) -> list[Term]:
    """The same for language models, turned to support: −∇B(q)ᵀ (ΦᵀΦ + λI)⁻¹ ∇ℓ(z_k), as φ = −∇ℓ/(1 − p)."""
    queries = np.asarray(features.last.queries[behavior], dtype=np.float64)
    return [Term(len(features.points) - 1, 1.0, _held_inverse(features)(queries), features.last.gradients)]


@lru_cache(maxsize=1)
def _held_inverse(features: Features) -> Callable[[np.ndarray], np.ndarray]:
    """(ΦᵀΦ + λI)⁻¹ of the features, shared by all behaviors."""
    doubt = np.maximum(-np.expm1(-features.losses.astype(np.float64)), LEAST_DOUBT)
    phi = -np.asarray(features.last.gradients) / doubt[:, None].astype(np.float32)
    solve = regularised_inverse(torch.from_numpy(phi), features.ridge)
    return lambda rows: solve(torch.from_numpy(rows)).numpy()


TRAK = Estimator(
    "trak", "TRAK", False,
    "Leave-one-out of a logistic regression on randomly projected gradients.",
    "Park et al. 2023", needs_gradient=True, needs=("margins",), settings=TrakSettings,
    unfit_interventions=("upweight", "relabel"),
    routes={"retrain": respond, "reoptimize": respond, "local_search": respond},
    held={("remove", "retrain"): Linear(held)}, cost=Cost(products(1)),
    named=(Named("trak", "TRAK", LEFT_OUT, "Park et al. 2023", "remove", "retrain", "soft_margin"),),
)
