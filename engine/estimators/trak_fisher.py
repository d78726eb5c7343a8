r"""TRAK as the code of the paper's authors has it: an influence function by the Fisher of projected gradients.

With g(z) = Rᵀ∇ℓ(z; θ_D) and G (n, k) those of the training set, the derivative of a behavior by the weight of z_k is

    −g_B(q)ᵀ (GᵀG/n + λI)⁻¹ g(z_k),   λ = ridge · max(tr(GᵀG/n)/k, 1) + damping,   g_B(q) = Rᵀ∇_θ B(q).

No 1 − p stands on either side, so that GᵀG/n is the empirical Fisher, which takes the Hessian's place. The 1 in λ is
the code's: gradients whose mean squared coordinate is far below it are not whitened at all, and the scores are those of
gradient similarity up to a factor.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from engine.basics.options import Options
from engine.basics.settings import FREE, Settings, setting
from engine.basics.values import Count, Number
from engine.curvature.gram import inverse_of_features
from engine.estimators.cost import Cost, products
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.less_final import SOURCE
from engine.estimators.named import CODE, Named
from engine.estimators.trak import DIMENSION, PROJECTOR, RIDGE
from engine.gradients.response import Term
from engine.gradients.store import Linear
from engine.problems import ModuleProblem
from engine.question.processes import LocalResponse


class FisherSettings(Settings):
    """Settings of TRAK by the empirical Fisher."""

    dimension: Count = setting(
        DIMENSION, "Dimension to which gradients are projected.", "this program",
        "work in proportion where it is above the default", ge=1, le=65_536)
    projector: Literal["rademacher", "gaussian", "count_sketch"] = setting(
        PROJECTOR, "The random projection.", "Park et al. 2023", FREE)
    ridge: Number = setting(
        RIDGE, "λ as a fraction of the mean squared coordinate of a gradient, or of 1 where that is more.", SOURCE,
        FREE, gt=0, le=1e6)

    @property
    def effort(self) -> float:
        return max(1.0, self.dimension / DIMENSION)


def response(problem: ModuleProblem, process: LocalResponse, candidates: Tensor, options: Options, *,
             projector: str = PROJECTOR, dimension: int = DIMENSION, ridge: float = RIDGE) -> list[Term]:
    """For `infinitesimal`."""
    events = problem.events(candidates, projector, dimension, options)
    fisher = problem.memo(f"fisher:{events.key}:{ridge!r}:{process.damping!r}",
                          lambda: fisher_inverse(events.gradients, ridge, process.damping))
    return [events.term(1.0, fisher)]


def fisher_inverse(gradients: Tensor, ridge: float, damping: float = 0.0) -> Linear:
    """rows (m, k) -> rows (GᵀG/n + λI)⁻¹ of gradients G (n, k), in float64."""
    n, k = gradients.shape
    diagonal = gradients.double().square().sum().item() / (n * k)
    solve = inverse_of_features(gradients, n * (ridge * max(diagonal, 1.0) + damping))
    return lambda rows: n * solve(rows)


TRAK_FISHER = Estimator(
    "trak_fisher", "TRAK (authors' code)", False,
    "Influence function by the empirical Fisher of randomly projected gradients, with a ridge of at least 0.01.",
    SOURCE, needs=("margins",), settings=FisherSettings, routes={"local_response": closed_form(response)},
    cost=Cost(products(1)),
    named=(Named("trak_fisher", "TRAK (authors' code)", CODE, SOURCE, "infinitesimal", "local_response",
                 "soft_margin", "TRAK"),),
)
