"""From scorings to scores: order, shared models, chunks, progress, cancelling, and what the provenance says."""

import numpy as np
import pytest

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.provenance import versions
from engine.estimators.exact import EXACT
from engine.exact import optima
from engine.scoring.compute import _chunk, compute
from engine.scoring.controlled import response, step_scoring
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases as cases

ADD, REOPTIMIZE = {"kind": "add_occurrence"}, {"kind": "reoptimize"}
STEP, TRAJECTORY = {"kind": "one_step", "eta": 0.3}, {"kind": "trajectory", "eta": 0.3, "checkpoints": 3, "every": 2}
UPWEIGHT, LOCAL = {"kind": "upweight", "alpha": 0.01}, {"kind": "local_response"}


def of(*parts):
    return Scoring.of(*parts)


MIXED = [
    of("query_loss", {"kind": "remove"}, REOPTIMIZE), of("hard_margin", ADD, STEP), of("query_loss", ADD, TRAJECTORY),
    of("query_loss", UPWEIGHT, REOPTIMIZE, "cg"), of("correct", {"kind": "remove"}, REOPTIMIZE),
    of("query_loss", {"kind": "infinitesimal"}, LOCAL), of("query_loss", {"kind": "auxiliary"}, STEP),
    of("query_loss", ADD, STEP, "first_order"), of("query_loss", UPWEIGHT, REOPTIMIZE),
]


def small(**options):
    return naive.problem(n=40, d=4, queries=5, **{"candidates": [9, 0, 5, 31, 2, 17, 8], **options})


def test_scores_come_in_the_order_asked_for_as_if_each_were_alone():
    problem = small()
    together = compute(problem, MIXED)
    assert [scores.scoring for scores in together] == MIXED
    for scores, scoring in zip(together, MIXED, strict=True):
        alone = compute(problem, scoring)[0]
        assert scores.values.shape == (5, 7) and scores.values.dtype == np.float64
        assert scores.candidates.tolist() == [9, 0, 5, 31, 2, 17, 8]
        assert scores.converged.dtype == bool and scores.converged.shape == scores.residual.shape == (7,)
        naive.assert_close(scores.values, alone.values, 1e-6, 1e-12)
    assert compute(problem, []) == []


def test_the_same_scoring_twice_is_given_twice():
    first, second = compute(small(), [MIXED[1], MIXED[1]])
    np.testing.assert_array_equal(first.values, second.values)


def test_what_shares_process_and_estimator_is_computed_once(monkeypatch):
    """Four behaviors and two interventions of re-optimisation: one call for all, each objective minimised once."""
    routed, minimised = [], []
    real, minimise = EXACT.routes["reoptimize"], optima.minimise

    def route(problem, interventions, process, candidates, options):
        routed.append([intervention.kind for intervention in interventions])
        return real(problem, interventions, process, candidates, options)

    monkeypatch.setitem(EXACT.routes, "reoptimize", route)
    monkeypatch.setattr(optima, "minimise",
                        lambda *a, **k: (minimised.append(1), minimise(*a, **k))[1])
    behaviors = ("query_loss", "query_logit", "soft_margin", "correct")
    compute(small(), [of(behavior, intervention, REOPTIMIZE) for behavior in behaviors
                      for intervention in ({"kind": "remove"}, UPWEIGHT)])
    assert routed == [["remove", "upweight"]] and len(minimised) == 2
    compute(small(), [of("query_loss", UPWEIGHT, REOPTIMIZE),
                      of("query_loss", UPWEIGHT, {"kind": "reoptimize", "baseline": "reoptimized"})])
    assert routed[1:] == [["upweight"], ["upweight"]], "another process is another call"


@pytest.mark.parametrize("scoring", MIXED, ids=lambda scoring: f"{scoring.title}")
def test_chunks_do_not_change_scores(scoring):
    """A budget that holds one or two candidates at a time, against one that holds all."""
    problem = small()
    whole = compute(problem, scoring)[0]
    least = 12 * problem.x.numel()
    for extra in (0, 4_000):
        part = compute(problem, scoring, Options(budget=least + extra))[0]
        naive.assert_close(part.values, whole.values, 1e-6, 1e-12)
        assert part.candidates.tolist() == whole.candidates.tolist() and part.converged.all()
        assert part.provenance["convergence"].keys() == whole.provenance["convergence"].keys()


def test_a_budget_below_the_training_data_is_refused():
    with pytest.raises(InvalidInput, match=r"is too small for the training data; raise it to at least 0\.5 GiB"):
        compute(small(), MIXED[1], Options(budget=100))


def chunks_of(budget, problem, scoring):
    seen = []
    kind = scoring.process.kind
    routes = EXACT.routes
    real = routes[kind]
    routes[kind] = lambda p, i, t, candidates, o: (seen.append(len(candidates)), real(p, i, t, candidates, o))[1]
    try:
        compute(problem, scoring, Options(budget=budget))
    finally:
        routes[kind] = real
    return seen


def test_chunks_shrink_with_the_budget_and_with_checkpoints():
    problem = small()
    least = 12 * problem.x.numel()
    assert chunks_of(1 << 30, problem, MIXED[1]) == [7]
    tight = chunks_of(least, problem, MIXED[1])
    assert len(tight) > 1 and sum(tight) == 7
    assert len(chunks_of(least + 3_000, problem, MIXED[2])) > len(chunks_of(least + 3_000, problem, MIXED[1]))


def test_chunks_hold_the_gradients_that_solvers_of_a_network_need():
    problem = cases.problem(dtype="float32")
    plain, solve = step_scoring("query_loss", 0.1).process, response().process
    assert problem.gradient_bytes == 4 * problem.parameters and small().gradient_bytes == 0
    assert _chunk(problem, 1, solve, 1 << 20) < _chunk(problem, 1, plain, 1 << 20)


@pytest.mark.parametrize("budget", [1 << 30, 2_000])
def test_progress_rises_to_one(budget):
    shares = []
    compute(small(), MIXED, Options(budget=budget, progress=shares.append))
    assert shares == sorted(shares) and shares[0] >= 0.0 and shares[-1] == 1.0 and len(set(shares)) >= 7


@pytest.mark.parametrize("scoring", MIXED, ids=lambda scoring: f"{scoring.title}")
def test_every_route_can_be_cancelled(scoring):
    class Stop(Exception):
        pass

    def stop():
        raise Stop

    with pytest.raises(Stop):
        compute(small(), scoring, Options(check=stop))


def test_counts_add_up_over_chunks_and_settings_do_not():
    problem = small()
    scorings = [of("query_loss", UPWEIGHT, REOPTIMIZE, name) for name in ("lissa", "arnoldi", "cg", "kfac", "exact")]
    whole = [scores.provenance["convergence"] for scores in compute(problem, scorings)]
    least = 12 * problem.x.numel()
    assert len(chunks_of(least, problem, scorings[-1])) > 2
    parts = [scores.provenance["convergence"] for scores in compute(problem, scorings, Options(budget=least))]
    assert [part.get("converged") for part in parts] == [None, None, None, None, 7], "only an exact answer converges"
    for one, many in zip(whole, parts, strict=True):
        assert many["of"] == many.get("kept", 7) == 7
        for setting in ("batch_size", "damping", "rank", "tolerance", "averaged", "factored"):
            assert one.get(setting) == many.get(setting), setting
    exact_whole, exact_parts = whole[-1], parts[-1]
    for count in ("single_passes", "double_passes", "flops"):
        assert 0.7 < exact_parts[count] / exact_whole[count] < 1.5, count
    assert exact_parts["rounds"] <= exact_whole["rounds"] + 2
    passes = exact_whole["single_passes"] + exact_whole["double_passes"]
    assert exact_whole["flops"] == 4 * 40 * 4 * 3 * passes


def test_the_provenance_says_what_was_done():
    problem = small(intercept=True, l2=0.02)
    scores = compute(problem, MIXED[0])[0]
    found = scores.provenance
    assert found["spec"] == {"behavior": "query_loss", "intervention": {"kind": "remove", "normalization": "n-1"},
                             "process": {"kind": "reoptimize", "baseline": "factual"}, "estimator": "exact"}
    assert found["digest"] == scores.scoring.digest and found["question"] == scores.scoring.question
    assert found["orientation"] == -1 and found["exact"] is True and found["data"] == problem.fingerprint
    assert found["sizes"] == {"train": 40, "queries": 5, "candidates": 7, "features": 5, "classes": 3}
    assert found["l2"] == 0.02 and found["intercept"] is True and found["factual_gradient_norm"] < 1e-12
    assert found["convergence"]["largest_residual"] == scores.residual.max() and found["versions"] == versions()
    assert found["device"] and found["wall_seconds"] >= 0
    assert Scoring.parse(found["spec"]) == scores.scoring


def test_orientation_and_trust_by_hand():
    removal = Scores(MIXED[0], np.array([[1.0, -2.0, 3.0]]), np.arange(3), np.array([True, False, True]), np.zeros(3))
    np.testing.assert_array_equal(removal.oriented, [[-1.0, 2.0, -3.0]])
    np.testing.assert_array_equal(removal.trusted, [[-1.0, np.nan, -3.0]])
    step = Scores(MIXED[1], removal.values, removal.candidates, removal.converged, removal.residual)
    np.testing.assert_array_equal(step.oriented, removal.values)


def test_a_weight_below_minus_one_nth_is_refused_before_anything_is_computed():
    problem, asked = small(), []
    scorings = [MIXED[0], Scoring.of("query_loss", {"kind": "upweight", "alpha": -0.5}, {"kind": "reoptimize"}, "cg")]
    with pytest.raises(InvalidInput, match="above −1/n"):
        compute(problem, scorings, Options(check=lambda: asked.append(1)))
    assert not asked
