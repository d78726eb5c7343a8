"""What a column of examples says of candidates without a rank: the two reasons apart."""

from dataclasses import replace

import numpy as np

from app.examples.data import Column
from app.examples.panel import scale
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive


def test_what_did_not_converge_and_what_has_no_position_are_told_apart():
    problem = naive.problem(n=20, d=3, classes=3, queries=2, candidates=range(6))
    found = compute(problem, Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"}))[0]
    converged = np.ones(6, bool)
    whole = scale(found, Column((), (), 6, -1.0, 1.0), ProblemSource())
    assert "without a rank" not in whole and "6 candidates (sampled at random from 20 training examples)" in whole
    told = "1 without a rank: their error bound exceeds the distance to half of the others"
    said = scale(found, Column((), (), 5, -1.0, 1.0), ProblemSource())
    assert said.endswith(told) and "converge" not in said
    converged[:2] = False
    said = scale(replace(found, converged=converged), Column((), (), 3, -1.0, 1.0), ProblemSource())
    assert "2 did not converge and have no rank" in said and said.endswith(told)
