r"""TRAK: the model as a logistic regression on projected tangent features (Park et al. 2023).

With φ(z) = Rᵀ∇_θ m(z), m the soft margin log(p_y/(1 − p_y)), and Φ (n, k) the features of the training set,
leaving z_k out and training again changes a behavior by

    −φ_B(q)ᵀ (ΦᵀΦ + ridge·I)⁻¹ φ(z_k) (1 − p_k),   φ_B(q) = Rᵀ∇_θ B(q),

the leave-one-out formula of that regression. R is any projector of `engine.estimators.projectors`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.estimators.estimator import Estimator
from engine.estimators.projectors import PROJECTORS, checked_dimension
from engine.exact.response import GradientPart, Response, signal_of
from engine.gradients.per_example import behavior_gradients
from engine.problems import ModuleProblem
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Intervention
from engine.question.processes import LocalSearch, Reoptimize, Retrain

DIMENSION = 512
PROJECTOR = "rademacher"
RIDGE = 1e-6
"""The ridge, as a share of the features' mean squared singular value; it only makes the inverse exist."""


def respond(problem: ModuleProblem, interventions: Sequence[Intervention], process: Reoptimize | LocalSearch | Retrain,
            candidates: Tensor, options: Options, *, projector: str = PROJECTOR,
            dimension: int = DIMENSION) -> list[Response]:
    """One response for `remove`; the training features are computed once and kept on the problem."""
    name, k = PROJECTORS[projector].name, checked_dimension(dimension)
    features, inverse = problem.memo(f"trak:{name}:{k}:{options.seed}",
                                     lambda: _training_features(problem, name, k, options))
    doubt = 1.0 - _own_probability(problem, candidates)
    targets = (features[candidates].double() @ inverse) * doubt[:, None].double()

    def products(signal: Tensor) -> Tensor:
        own = _project(problem, problem.queries, signal, name, k, options)
        return -(own.double() @ targets.T)

    return [Response.closed_form(GradientPart(problem.query_logits, products, len(candidates)))
            for _ in interventions]


def _training_features(problem: ModuleProblem, projector: str, k: int, options: Options) -> tuple[Tensor, Tensor]:
    """Φ (n, k) and (ΦᵀΦ + ridge·I)⁻¹ (k, k) in float64."""
    margin, parts = BEHAVIORS["soft_margin"], []
    for rows in torch.arange(problem.n, device=problem.device).split(512):
        options.check()
        signal = signal_of(margin, problem.network.predict(problem.x[rows]), problem.y[rows])
        parts.append(_project(problem, problem.x[rows], signal, projector, k, options))
    features = torch.cat(parts)
    gram = features.double().T @ features.double()
    gram.diagonal().add_(RIDGE * gram.diagonal().mean())
    return features, torch.cholesky_inverse(torch.linalg.cholesky(gram))


def _project(problem: ModuleProblem, x: Tensor, signal: Tensor, projector: str, k: int, options: Options) -> Tensor:
    """Rᵀ J_xᵀ s for every row, (b, k), a chunk of gradients at a time."""
    width = max(1, options.budget // 8 // (problem.theta.element_size() * problem.parameters))
    return torch.cat([PROJECTORS[projector].project(
        behavior_gradients(problem, part, own, budget=options.budget // 4), k, options.seed)
        for part, own in zip(x.split(width), signal.split(width), strict=True)])


def _own_probability(problem: ModuleProblem, rows: Tensor) -> Tensor:
    """p_y of training examples, (b,)."""
    p = problem.network.predict(problem.x[rows]).softmax(-1)
    return p.gather(1, problem.y[rows][:, None])[:, 0]


TRAK = Estimator(
    "trak", "TRAK", False,
    "Leave-one-out of a logistic regression on randomly projected gradients.",
    "Park et al. 2023", needs_gradient=True, needs=("tangents",), unfit_interventions=("upweight", "relabel"),
    routes={"retrain": respond, "reoptimize": respond, "local_search": respond},
)
