"""A score of an attribution taken apart into the tokens of the record, for every estimator that is linear in its
gradient; see `tokens` for the mathematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from engine.applications.language import tokens
from engine.applications.language.attribution import Attribution
from engine.applications.language.methods import RecordMethod
from engine.gradients.cached import Features
from engine.models.causal import lora, passes


def shade(run: Attribution, features: Features, method: RecordMethod, behavior: str, rows: Sequence[int],
          check: Callable[[], None] = lambda: None) -> list[tuple[np.ndarray, float]]:
    """For each row the part of its mean score over the queries that every response token brings, and a rest that no
    token brings: of the optimizer's momentum, 0 for estimators that do not read it. Parts and rest add up to the score.
    """
    encoded = [run.encoded[row] for row in rows]
    contributions, rest = [np.zeros(len(item.ids) - item.response) for item in encoded], np.zeros(len(rows))
    shapes = {name: parameter.shape for name, parameter in lora.trained(run.model).items()}
    device, size = passes.device_of(run.model), run.setting.recipe.batch
    for index, u in method.directions(features, behavior).items():
        run.load(run.points[index])
        towards = tokens.backwards(run.projection, u, shapes, device)
        lengths = np.ones(len(rows))
        if method.preconditioned:
            lengths = np.linalg.norm(features.points[index].conditioned[list(rows)].astype(np.float64), axis=1)
            steps = tokens.Steps(run.model, towards, run.points[index].moments(), run.points[index].step)
            own = tokens.contributions(run.model, run.encoder, encoded, steps, 1, check)
            rest += np.array([steps.momentum[row] for row in range(len(rows))]) / lengths
        else:
            own = tokens.contributions(run.model, run.encoder, encoded, towards, size, check)
        for row, values in enumerate(own):
            contributions[row] += values / lengths[row]
    return list(zip(contributions, rest.tolist(), strict=True))
