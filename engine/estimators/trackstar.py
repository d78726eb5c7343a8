r"""TrackStar: cosines of whitened, randomly projected gradients (Chang et al. 2024).

    −cos(W u_q, W u_k),   u = R (∇/(√V + ε)),   W = S^(−½),   S = (1 − μ) S_train + μ S_queries + δI

layer by layer, and the layers side by side: ∇ is the query's ∇B(q; θ_D) or the example's ∇ℓ(z_k; θ_D), V a second
moment of gradients (`second_moments`), R the projection of both sides of the layer, and S_train and S_queries the mean
u uᵀ of all training examples and of all queries. Without projection and lengths, and with μ = 0, it is the influence
function of the empirical Fisher matrix. The mean over queries lowers what all of them have in common, so that the score
of a query depends on which others are asked about; `mixing=0` leaves it out. Parameters of no linear or convolution
layer are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.settings import FREE, setting
from engine.basics.values import Count, Number
from engine.curvature.layers import CurvatureLayer, factored_layers
from engine.curvature.logra import RANK, two_sided
from engine.curvature.projected import OWN_DAMPING, sampled_for
from engine.estimators.cost import WITH_TRAINING_SET
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import INFLUENCE, Named
from engine.estimators.second_moments import EXAMPLES, MomentSettings, Source, spread
from engine.gradients.layer_projection import LayerProjection
from engine.gradients.per_example import behavior_gradients, loss_gradients
from engine.gradients.response import GradientTerm, Term
from engine.problems import ModuleProblem
from engine.question.departure import NORMALISED
from engine.question.processes import LocalResponse

SecondMoment = Literal["adam", "adafactor", "none"]
MIXING = 0.9
SECOND_MOMENT: SecondMoment = "adam"


class TrackstarSettings(MomentSettings):
    """Settings of TrackStar."""

    rank: Count = setting(
        RANK, "Dimensions to which each side of a layer's gradient is projected; their square per layer.",
        "this program, for small networks", "memory with its fourth power, time with its sixth", ge=1, le=256)
    mixing: Number = setting(
        MIXING, "μ: the weight of the queries' matrix.", "Chang et al. 2024, for questions on facts", FREE,
        ge=0, le=1)
    second_moment: SecondMoment = setting(
        SECOND_MOMENT, "The second moment by which gradients are divided.", "this program", FREE)

    @property
    def effort(self) -> float:
        return max(1.0, (self.rank / RANK) ** 2)


@dataclass(frozen=True)
class Space:
    """Where gradients are compared. spread (P,): what they are divided by first."""

    problem: ModuleProblem
    layers: tuple[CurvatureLayer, ...]
    projections: list[LayerProjection]
    spread: Tensor | float

    def features(self, gradients: Tensor) -> list[Tensor]:
        """u of gradients (b, P), in float64: (b, k) a layer."""
        values = self.problem.network.unflatten(gradients / self.spread)
        return [projection.of(layer.to_matrix(values)).double()
                for layer, projection in zip(self.layers, self.projections, strict=True)]

    def of_examples(self, rows: Tensor, options: Options) -> Iterator[list[Tensor]]:
        """The same of ∇ℓ(z_k), a chunk after another."""
        for chunk in rows.split(self._width(options)):
            yield self.features(loss_gradients(self.problem, chunk, budget=options.budget // 4, check=options.check))

    def of_queries(self, signal: Tensor, options: Options) -> list[Tensor]:
        """The same of J_qᵀ s for signals s (m, C) of all queries."""
        width = self._width(options)
        chunks = [self.features(behavior_gradients(self.problem, x, own, budget=options.budget // 4,
                                                  check=options.check))
                 for x, own in zip(self.problem.queries.split(width), signal.split(width), strict=True)]
        return [torch.cat(layer) for layer in zip(*chunks, strict=True)]

    def of_training(self, options: Options) -> list[Tensor]:
        """S_train (k, k) a layer."""
        problem = self.problem
        total = [problem.theta.new_zeros(each.count, each.count, dtype=torch.float64) for each in self.projections]
        for features in self.of_examples(torch.arange(problem.n, device=problem.device), options):
            for held, own in zip(total, features, strict=True):
                held.addmm_(own.T, own, alpha=1 / problem.n)
        return total

    def _width(self, options: Options) -> int:
        return max(1, min(512, options.budget // 8 // (self.problem.theta.element_size() * self.problem.parameters)))


def response(problem: ModuleProblem, process: LocalResponse, candidates: Tensor, options: Options, *,
             rank: int = RANK, mixing: float = MIXING, second_moment: SecondMoment = SECOND_MOMENT,
             moments: Source = EXAMPLES) -> list[Term]:
    """Where damping is zero, δ is a tenth of the mean eigenvalue of a layer's S. Raises `InvalidInput` where no
    selected parameter is of a linear or convolution layer, and as `spread` does."""
    layers = factored_layers(problem)
    if not layers:
        raise InvalidInput("TrackStar projects the gradients of linear layers and convolutions, but no selected "
                           "parameter belongs to one; use `cosine`, or select others.")
    scale = 1.0 if second_moment == "none" else spread(problem, options, second_moment == "adafactor", moments)
    space = Space(problem, layers, sampled_for(layers, two_sided(rank), options.seed, problem.theta), scale)
    key = f"trackstar:{rank}:{second_moment}:{moments}:{options.seed}"
    train = problem.of_model(key, lambda: space.of_training(options))
    chunks = list(space.of_examples(candidates, options))
    examples = [torch.cat(layer) for layer in zip(*chunks, strict=True)]

    def products(signal: Tensor) -> Tensor:
        queries = space.of_queries(signal, options)
        roots = [_inverse_root((1 - mixing) * own + mixing * u.T @ u / len(u), process.damping)
                 for own, u in zip(train, queries, strict=True)]
        return -_unit(queries, roots) @ _unit(examples, roots).T

    return [GradientTerm(problem.query_logits, products, len(candidates))]


def _inverse_root(matrix: Tensor, damping: float) -> Tensor:
    """(S + δI)^(−½) of S (k, k); zero where S and δ are."""
    values, vectors = torch.linalg.eigh(matrix)
    shifted = values.clamp_min(0) + (damping or OWN_DAMPING * values.mean())
    return vectors * torch.where(shifted > 0, shifted.rsqrt(), 0.0) @ vectors.T


def _unit(features: list[Tensor], roots: list[Tensor]) -> Tensor:
    """W u at length one, the layers side by side: (b, Σ k)."""
    return normalize(torch.cat([own @ root for own, root in zip(features, roots, strict=True)], 1),
                     eps=torch.finfo(torch.float64).tiny)


TRACKSTAR = Estimator(
    "trackstar", "TrackStar", False,
    "Cosines of randomly projected gradients over their second moment, whitened by their mean products over training "
    "examples and queries.",
    "Chang et al. 2024", routes={"local_response": closed_form(response)}, needs=("gradients", "tangents"),
    departures={"infinitesimal": (NORMALISED,)}, settings=TrackstarSettings, proper=True,
    named=(Named("trackstar", "TrackStar", INFLUENCE, "Chang et al. 2024", "infinitesimal", "local_response"),),
    cost=WITH_TRAINING_SET)
