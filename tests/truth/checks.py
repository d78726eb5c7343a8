"""What the comparisons with the truth share: scores of every behavior, and when they are the same."""

import numpy as np

from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring


def scored(problem, intervention, process, estimator, behaviors):
    """behavior -> scores; what is below resolution must not be asked for."""
    found = compute(problem, [Scoring.of(name, intervention, process, estimator) for name in behaviors])
    return dict(zip(behaviors, found, strict=True))


def same(scores, expected):
    """To a millionth of each score that is not flagged, and nearly none is."""
    known = scores.above_resolution
    assert known.mean() > 0.9
    np.testing.assert_allclose(scores.values[known], expected[known], rtol=1e-6, atol=1e-13)
