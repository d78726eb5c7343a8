"""A score of an attribution taken apart into the tokens of the record, for every estimator that is linear in its
gradient; see `tokens` for the mathematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from engine.applications.language import tokens
from engine.applications.language.attribution import Attribution
from engine.applications.language.methods import RecordMethod, pairs
from engine.gradients.cached import Features
from engine.jobs import Context, Output
from engine.models.causal import lora, passes

MOMENTUM = -1
"""The place, in the table of tokens, of what no token brings but the optimizer's momentum."""


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


def shaded(attribution: Attribution, features: Features, rows_of: Callable[[RecordMethod, str], list[int]],
            context: Context) -> Output:
    """The table `tokens`: contributions to the scores of the records that rows_of(method, behavior) names."""
    table = []
    divided = [(method, name) for method, name in pairs(features.behaviors) if not method.undivided]
    for done, (method, name) in enumerate(divided):
        context.progress(done / len(divided), f"contributions of tokens: {method.label}")
        rows = rows_of(method, name)
        shaded = shade(attribution, features, method, name, rows, context.check)
        for row, (values, rest) in zip(rows, shaded, strict=True):
            words = [*attribution.encoder.words(attribution.encoded[row]), ""]
            positions = [*range(len(values)), MOMENTUM]
            table += [{"estimator": method.name, "behavior": name, "record": row, "place": position, "text": text,
                       "contribution": float(value)}
                      for position, text, value in zip(positions, words, [*values, rest], strict=True)
                      if position != MOMENTUM or method.preconditioned]
    return Output({"tokens": pd.DataFrame(table)})
