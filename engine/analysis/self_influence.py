r"""Self-influence I_S(z_k, z_k): a training example's influence on the behavior at itself.

Every candidate is its own query. Large values, under a specification that reads the loss, mark examples that the
model knows from themselves alone: memorised, unusual or mislabelled ones.
"""

from __future__ import annotations

import numpy as np

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.metrics.positions import has_position
from engine.problems import Problem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

BLOCK = 1_000


def self_influence(problem: Problem, scoring: Scoring, options: Options | None = None) -> np.ndarray:
    """Oriented I_S(z_k, z_k) of every candidate, (k,); NaN where one did not converge, and where its error bound leaves
    it no position among the others. Raises as `compute` does."""
    if not scoring.route.implies:
        raise InvalidInput(f"`{scoring.route.title}` implies no specification, so there is no behavior at an example "
                           "itself; choose another one.")
    options = options or Options()
    blocks, found, bounds = problem.candidates.split(BLOCK), [], []
    for number, rows in enumerate(blocks):
        share = options.share(number, len(blocks))
        scores = compute(problem.at_itself(rows), scoring, share)[0]
        found.append(np.diagonal(scores.scored))
        bounds.append(np.diagonal(scores.bound))
    values, error = np.concatenate(found), np.concatenate(bounds)
    return np.where(has_position(values[None], error[None])[0], values, np.nan)
