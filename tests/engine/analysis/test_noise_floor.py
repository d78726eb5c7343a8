"""What another seed reaches: against SciPy on two real trainings, and only for questions about a single run."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from engine.analysis.noise_floor import at_ceiling, floor, question, runs, two_runs
from engine.metrics.agreement import summarize
from engine.models.recipe import Recipe
from engine.models.training import train
from engine.question.behaviors import BEHAVIORS
from engine.scoring.compute import compute
from engine.scoring.identities import ProblemFacts
from engine.scoring.scoring import Scoring
from tests.engine.exact import network_cases

REMOVE, RATE = {"kind": "remove"}, {"kind": "infinitesimal"}
RETRAIN, REPLAY = {"kind": "retrain"}, {"kind": "replay"}


def of(intervention, process, estimator="exact", behavior="query_loss"):
    return Scoring.of(behavior, intervention, process, estimator)


def test_the_floor_is_the_agreement_of_two_trainings():
    recipe = Recipe(epochs=2, batch_size=4, learning_rate=0.3)
    small = network_cases.problem(network_cases.smooth, (4,), recipe=recipe, build=network_cases.smooth, n=10,
                                  queries=4, candidates=range(3, 9))
    asked = runs(of(REMOVE, RETRAIN))
    assert asked.both == (of(REMOVE, RETRAIN), of(REMOVE, {**RETRAIN, "first": 1}))
    found = floor([tuple(compute(small, asked.both))]).agreement("kendall_tau", 0, 1)
    changes = []
    for seed in (small.seed, small.seed + 1):
        plain = train(small.build, small.x, small.y, recipe, seed, dtype=small.x.dtype).module
        rows = []
        for k in range(3, 9):
            weights = np.ones(10)
            weights[k] = 0.0
            moved = train(small.build, small.x, small.y, recipe, seed, weights=small.x.new_tensor(weights),
                          normalization="n-1", dtype=small.x.dtype).module
            value = BEHAVIORS["query_loss"].value
            rows.append((value(moved(small.queries), small.query_labels)
                         - value(plain(small.queries), small.query_labels)).detach().numpy())
        changes.append(-np.stack(rows, 1))
    expected = summarize([kendalltau(a, b).statistic for a, b in zip(*changes, strict=True)], interval_over="queries")
    assert found.mean == pytest.approx(expected.mean) and found.ci95 == pytest.approx(expected.ci95)
    assert abs(found.mean) < 0.999  # two seeds differ


@pytest.mark.parametrize(("scoring", "facts", "asked"), [
    (of(REMOVE, RETRAIN), ProblemFacts(), of(REMOVE, RETRAIN)),
    (of(REMOVE, {**RETRAIN, "first": 3}), ProblemFacts(), of(REMOVE, {**RETRAIN, "first": 3})),
    (of(REMOVE, RETRAIN, "cg"), ProblemFacts(), of(REMOVE, RETRAIN)),
    (of(RATE, REPLAY, "source"), ProblemFacts(), of(RATE, REPLAY)),
    (of(REMOVE, {**RETRAIN, "seeds": 2}), ProblemFacts(), None),
    (of(REMOVE, {"kind": "reoptimize"}), ProblemFacts(), None), (of(REMOVE, RETRAIN), ProblemFacts(convex=True), None),
    (Scoring.parse({"estimator": "random"}), ProblemFacts(), None)])
def test_only_a_single_run_has_a_floor(scoring, facts, asked):
    assert question(scoring, facts) == asked
    assert (runs(scoring, (), facts) is None) == (asked is None)


def test_another_run_that_is_listed_is_the_one_that_is_compared_with():
    own, other, mean = (of(REMOVE, {**RETRAIN, **more}) for more in ({}, {"first": 7}, {"seeds": 3}))
    assert runs(own, [own, mean, other]).other == other and runs(other, [own, mean, other]).other == own
    assert runs(own, [own, mean, other]).seeds == (0, 7) and runs(own).seeds == (0, 1)
    assert runs(own, [own, of(REMOVE, {**RETRAIN, "first": 7}, behavior="probability")]).other.process.first == 1
    assert two_runs(own, other) and not two_runs(own, mean) and not two_runs(own, own)
    assert not two_runs(own, of(REMOVE, {**RETRAIN, "first": 7}, "cg"))


def test_at_the_ceiling_is_as_well_as_another_seed():
    low, high, none = (summarize([value], "queries") for value in (0.4, 0.6, np.nan))
    assert at_ceiling(high, low) and at_ceiling(low, low) and not at_ceiling(low, high)
    assert not at_ceiling(none, low) and not at_ceiling(low, none)
