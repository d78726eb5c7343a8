r"""GradSim, TracIn and LiSSA against a mean trusted gradient, without the gradient of any single example.

    GradSim   ⟨∇B̄, ∇ℓ_k⟩ at θ_D
    TracIn    Σ_t η_t ⟨∇B̄, ∇ℓ_k⟩ at the checkpoints θ_t
    LiSSA     ⟨(H + δI)⁻¹∇B̄, ∇ℓ_k⟩ at θ_D

Larger is more suspicious: by Eq. 5 a step on z_k changes the trusted behavior by −η times the product. They are minus
the pooled scores of what they imply (`engine.scoring.pooled`), with η = 1, and of TracIn with the learning rates of the
run. The last checkpoint is θ_D, so that GradSim, LiSSA and TracIn's last term share their passes.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from torch import Tensor

from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, METHODS, Pair
from engine.applications.noisy_labels.source import TrainedModel
from engine.basics.options import Options
from engine.problems.module import ModuleProblem
from engine.scoring.pooled import pooled

NAMES = ("gradsim", "tracin", "lissa")


def score(model: TrainedModel, wanted: Collection[str], options: Options) -> dict[Pair, np.ndarray]:
    """Suspicion (n,) of the wanted methods among `NAMES`, for every trusted behavior."""
    wanted = [name for name in NAMES if name in wanted]
    if not wanted:
        return {}
    earlier = model.checkpoints[:-1] if "tracin" in wanted else ()
    at_the_end = ["gradsim", *(["lissa"] if "lissa" in wanted else [])]
    found = _suspicion(model.problem, at_the_end, options.share(0, len(earlier) + 1))
    if "tracin" in wanted:
        total = (model.checkpoints[-1][1] if model.checkpoints else 1.0) * found["gradsim"]
        for place, (state, rate) in enumerate(earlier):
            options.progress((place + 1) / (len(earlier) + 1))
            total += rate * _suspicion(model.at(state), ["gradsim"], options)["gradsim"]
        found["tracin"] = total
    return {Pair(METHODS[name].title, title): row.double().cpu().numpy()
            for name in wanted for title, row in zip(BEHAVIOR_TITLES.values(), found[name], strict=True)}


def _suspicion(problem: ModuleProblem, names: list[str], options: Options) -> dict[str, Tensor]:
    """name -> (behaviors, n), from one pass over the training set."""
    scorings = [method.implied(behavior, eta=1.0) for name in names if (method := METHODS[name].named)
                for behavior in BEHAVIOR_TITLES]
    scores = pooled(problem, scorings, [1.0] * len(problem.queries), options)
    return dict(zip(names, -scores.view(len(names), len(BEHAVIOR_TITLES), -1), strict=True))
