"""What a column of examples says of candidates without a rank: the two reasons apart."""

from dataclasses import replace

import numpy as np

from app.examples.data import Column
from app.examples.panel import scale
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive


def test_what_did_not_converge_and_what_is_below_resolution_are_told_apart():
    problem = naive.problem(n=20, d=3, classes=3, queries=2, candidates=range(6))
    found = compute(problem, Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"}))[0]
    resolved, converged = np.ones((2, 6), bool), np.ones(6, bool)
    assert "rank" not in scale(found, Column((), (), 6, -1.0, 1.0))
    resolved[0, 2] = False
    said = scale(replace(found, resolved=resolved), Column((), (), 5, -1.0, 1.0))
    assert said.endswith("1 below resolution, without a rank") and "converge" not in said
    converged[:2] = False
    said = scale(replace(found, resolved=resolved, converged=converged), Column((), (), 3, -1.0, 1.0))
    assert "2 did not converge and have no rank" in said and "1 below resolution" in said
