r"""TRAK: the model as a logistic regression on projected tangent features (Park et al. 2023).

An example counts as one event of probability p: for a classifier that its label is said, for a language model that its
response is, exp(−ℓ) with ℓ the mean loss of a token. With φ(z) = Rᵀ∇_θ log(p/(1 − p)) and Φ (n, k) the features of the
training set, leaving z_k out and training again changes a behavior by

    −φ_B(q)ᵀ (ΦᵀΦ + λI)⁻¹ φ(z_k) (1 − p_k),   φ_B(q) = Rᵀ∇_θ B(q),

the leave-one-out formula of that regression. R is any projector of `engine.gradients.projectors`, and λ is `ridge`
times the mean nonzero eigenvalue of ΦᵀΦ.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from engine.basics.options import Options
from engine.basics.settings import Settings, setting
from engine.basics.values import Count, Number
from engine.estimators.cost import Cost, products
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import LEFT_OUT, Named
from engine.estimators.ridge import regularised_inverse
from engine.gradients.response import Term
from engine.problems import ModuleProblem
from engine.question.processes import Process

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


def left_out(problem: ModuleProblem, process: Process, candidates: Tensor, options: Options, *,
             projector: str = PROJECTOR, dimension: int = DIMENSION, ridge: float = RIDGE) -> list[Term]:
    """For `remove`; the training features are computed once and kept on the problem."""
    events = problem.events(candidates, projector, dimension, options)
    ridge = ridge if events.ridge is None else events.ridge
    inverse = problem.memo(f"{events.key}:{ridge!r}", lambda: regularised_inverse(events.features, ridge))
    return [events.term(-1.0, inverse)]


TRAK = Estimator(
    "trak", "TRAK", False,
    "Leave-one-out of a logistic regression on randomly projected gradients.",
    "Park et al. 2023", needs=("margins",), unfit_interventions=("upweight", "relabel"), settings=TrakSettings,
    routes=dict.fromkeys(("retrain", "reoptimize", "local_search"), closed_form(left_out)),
    cost=Cost(products(1)),
    named=(Named("trak", "TRAK", LEFT_OUT, "Park et al. 2023", "remove", "retrain", "soft_margin"),),
)
