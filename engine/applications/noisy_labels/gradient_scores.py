r"""GradSim, TracIn and LiSSA against a mean trusted gradient, without the gradient of any single example.

    GradSim   ⟨∇B̄, ∇ℓ_k⟩ at θ_D
    TracIn    Σ_t η_t ⟨∇B̄, ∇ℓ_k⟩ at the checkpoints θ_t
    LiSSA     ⟨(H + δI)⁻¹∇B̄, ∇ℓ_k⟩ at θ_D

Larger is more suspicious: by Eq. 5 a step on z_k changes the trusted behavior by −η times the product. At a checkpoint
one pass over the trusted set gives ∇B̄ of all behaviors, and one over the training set the products with all of them.
The last checkpoint is θ_D, so that GradSim, LiSSA and TracIn's last term share their pass.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import torch
from torch import Tensor

from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, METHODS, Pair
from engine.applications.noisy_labels.source import TrainedModel
from engine.applications.noisy_labels.trusted import trusted_gradients
from engine.basics.options import Options
from engine.curvature import Hessian, lissa
from engine.gradients.directional import loss_derivatives
from engine.problems.module import ModuleProblem

NAMES = ("gradsim", "tracin", "lissa")


def score(model: TrainedModel, wanted: Collection[str], options: Options) -> dict[Pair, np.ndarray]:
    """Suspicion (n,) of the wanted methods among `NAMES`, for every trusted behavior."""
    wanted = [name for name in NAMES if name in wanted]
    if not wanted:
        return {}
    earlier = model.checkpoints[:-1] if "tracin" in wanted else ()
    final = _at_the_end(model.problem, "lissa" in wanted, options.share(0, len(earlier) + 1))
    found = {name: final[name] for name in wanted if name in final}
    if "tracin" in wanted:
        total = (model.checkpoints[-1][1] if model.checkpoints else 1.0) * final["gradsim"]
        for place, (state, rate) in enumerate(earlier):
            options.progress((place + 1) / (len(earlier) + 1))
            total += rate * _products(model.at(state), options)
        found["tracin"] = total
    return {Pair(METHODS[name].title, title): row.double().cpu().numpy()
            for name, rows in found.items() for title, row in zip(BEHAVIOR_TITLES.values(), rows, strict=True)}


def _at_the_end(problem: ModuleProblem, with_lissa: bool, options: Options) -> Mapping[str, Tensor]:
    """name -> (behaviors, n) at θ_D, from one pass over the training set."""
    directions = trusted_gradients(problem, tuple(BEHAVIOR_TITLES), options.budget, check=options.check)
    if not with_lissa:
        return {"gradsim": along(problem, directions, options)}
    solved = lissa.solve(Hessian(problem, options=options), directions.T.contiguous(), measure=False).x.T
    rows = along(problem, torch.cat([directions, solved]), options)
    return {"gradsim": rows[:len(directions)], "lissa": rows[len(directions):]}


def _products(problem: ModuleProblem, options: Options) -> Tensor:
    return along(problem, trusted_gradients(problem, tuple(BEHAVIOR_TITLES), options.budget, check=options.check),
                 options)


def along(problem: ModuleProblem, directions: Tensor, options: Options) -> Tensor:
    """⟨∇ℓ_k, v⟩ of every training example for directions (r, P): shape (r, n)."""
    return loss_derivatives(problem, torch.arange(problem.n, device=problem.device), directions, budget=options.budget,
                            check=options.check)
