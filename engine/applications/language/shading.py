"""A score of an attribution taken apart into tokens, for every estimator that is linear in its gradients: into those of
the record, or of a query; see `tokens` for the mathematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from engine.applications.language import ranges, tokens
from engine.applications.language.attribution import Attribution
from engine.applications.language.methods import RecordMethod, pairs
from engine.gradients.cached import CachedFeatures, held
from engine.jobs import Context
from engine.models.causal import lora, passes
from engine.models.causal.encoding import Encoded
from engine.models.causal.marked import Mark, loss_weights, mean_weights
from engine.question.worded import ranged

MOMENTUM = -1
"""The place, in the table of tokens, of what no token brings but the optimizer's momentum."""
MEANS: dict[str, Mark] = {"response_loss": "response", "explanation_loss": "explanation"}
"""Behavior -> the tokens of which it is the mean log-likelihood; all others are read where the answer is predicted."""
LOSS = "loss"


def shade(run: Attribution, features: CachedFeatures, method: RecordMethod, behavior: str, rows: Sequence[int],
          check: Callable[[], None] = lambda: None, query: int | None = None) -> list[tuple[np.ndarray, float]]:
    """For each row the part of its score for a query, by default of its mean score, that every response token brings,
    and a rest that no token brings: of the optimizer's momentum, 0 for estimators that do not read it. Parts and rest
    add up to the score.
    """
    encoded, mark = [run.encoded[row] for row in rows], run.setting.tokens
    contributions, rest = [np.zeros(len(item.ids) - item.response) for item in encoded], np.zeros(len(rows))
    weights, size = {LOSS: loss_weights(mark)}, run.setting.recipe.batch
    for index, u in method.directions(features, behavior, query).items():
        run.load(run.points[index])
        towards = direction(run, u)
        lengths = np.ones(len(rows))
        if method.preconditioned:
            lengths = update_lengths(features, index, rows)
            point = run.points[index]
            steps = tokens.UpdateDirections(run.model, towards, point.moments(), point.step, mark)
            own = tokens.contributions(run.model, run.encoder, encoded, steps, weights, 1, check)
            rest += np.array([steps.momentum[row] for row in range(len(rows))]) / lengths
        else:
            own = tokens.contributions(run.model, run.encoder, encoded, towards, weights, size, check)
        for row, values in enumerate(own[LOSS]):
            contributions[row] += values / lengths[row]
    return list(zip(contributions, rest.tolist(), strict=True))


def shade_query(run: Attribution, features: CachedFeatures, method: RecordMethod, encoded: Encoded, query: int,
                row: int, check: Callable[[], None] = lambda: None) -> dict[str, np.ndarray]:
    """Behavior -> the part of the score of a record for a query, `encoded`, that every response token of the query
    brings; they add up to the score. The length of a query's gradient is held, where an estimator reads it."""
    weights = {name: mean_weights(MEANS[name]) for name in features.behaviors if name in MEANS}
    weights |= {name: ranges.weights(ranged(name), query) for name in run.setting.ranges}
    values = {name: np.zeros(len(encoded.ids) - encoded.response) for name in features.behaviors}
    for name in features.behaviors:
        if name not in weights:
            values[name][encoded.answer - encoded.response] = method.score(features, name)[query, row]
    for name in weights:
        for index, v in method.query_directions(features, name, query, row).items():
            run.load(run.points[index])
            own = tokens.contributions(run.model, run.encoder, [encoded], direction(run, v), {name: weights[name]}, 1,
                                       check)
            values[name] += own[name][0]
    return values


def direction(run: Attribution, u: np.ndarray) -> dict:
    """Rᵀu by parameter."""
    trained = lora.trained(run.model)
    shapes = {name: trained[name].shape for name in run.sizes}
    return tokens.backwards(run.projection, u, shapes, passes.device_of(run.model))


def update_lengths(features: CachedFeatures, index: int, rows: Sequence[int]) -> np.ndarray:
    """‖RΓ‖ of records at the checkpoint of an index, (len(rows),); 1 where a record makes no step."""
    lengths = np.linalg.norm(held(features.points[index].conditioned)[list(rows)].astype(np.float64), axis=1)
    return np.where(lengths > 0, lengths, np.inf)


def shaded(attribution: Attribution, features: CachedFeatures, rows_of: Callable[[RecordMethod, str], list[int]],
           context: Context, query: int | None = None) -> pd.DataFrame:
    """The table `tokens`: contributions to the scores of the records that rows_of(method, behavior) names, for a query
    or by default to their means."""
    table = []
    divided = [(method, name) for method, name in pairs(features.behaviors) if not method.undivided]
    for done, (method, name) in enumerate(divided):
        context.progress(done / len(divided), f"contributions of tokens: {method.label}")
        rows = rows_of(method, name)
        shades = shade(attribution, features, method, name, rows, context.check, query)
        for row, (values, rest) in zip(rows, shades, strict=True):
            words = [*attribution.encoder.words(attribution.encoded[row]), ""]
            positions = [*range(len(values)), MOMENTUM]
            table += [{"estimator": method.name, "behavior": name, "record": row, "place": position, "text": text,
                       "contribution": float(value)}
                      for position, text, value in zip(positions, words, [*values, rest], strict=True)
                      if position != MOMENTUM or method.preconditioned]
    return pd.DataFrame(table)
