"""The spot check: equal to a comparison of whole arrays where all is drawn, and true of the whole where a part is."""

from dataclasses import replace
from math import hypot, isnan

import numpy as np
import pytest

from engine.analysis.comparison import compare
from engine.analysis.spot_check import (
    NotMeasured,
    SpotCheck,
    SpotCheckRequest,
    against,
    bounded,
    jackknife,
    reference,
    sampled,
)
from engine.curvature.solution import RELATIVE
from engine.metrics.agreement import kendall_tau
from engine.problems import SoftmaxProblem
from engine.scoring.compute import compute
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring

LOCAL = {"kind": "infinitesimal"}, {"kind": "local_response"}
STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}
APPROXIMATE = Scoring.of("query_loss", *LOCAL, "lissa")
EXACT = Scoring.of("query_loss", *LOCAL)


def checked(problem, scoring, **options):
    return SpotCheckRequest(scoring=scoring, **options).run(problem)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((60, 5)), rng.integers(0, 3, 60)
    return SoftmaxProblem(x, y, rng.standard_normal((14, 5)), rng.integers(0, 3, 14), np.arange(60), l2=1e-2)


def by_hand(scoring, values, converged=None, **facts):
    values = np.asarray(values, dtype=float)
    k = values.shape[1]
    return Scores(scoring, values, np.arange(k), np.ones(k, bool) if converged is None else converged, np.zeros(k),
                  {"sizes": {"classes": 3}, "convergence": facts})


def test_all_that_there_is_gives_what_a_comparison_gives(problem):
    found = checked(problem, APPROXIMATE, candidates=500, queries=500)
    right, other = compute(problem, [EXACT, APPROXIMATE])
    whole = compare([[other, right]], fraction=found.top / 60)
    assert (found.candidates, found.of_candidates, found.queries, found.of_queries) == (60, 60, 14, 14)
    assert found.tau.mean == pytest.approx(whole.agreement("kendall_tau", 0, 1).mean)
    assert found.overlap.mean == pytest.approx(whole.agreement("top_overlap", 0, 1).mean)
    assert found.tau.ci95 == pytest.approx(whole.agreement("kendall_tau", 0, 1).ci95)
    assert found.sampling_ci95 == 0 and found.ci95 == found.tau.ci95, "nothing is left to draw"
    assert found.reference == EXACT and found.bounded and found.chance == found.top / 60


def test_a_draw_is_random_seeded_and_counts_what_it_left_out(problem):
    first, again, other = (checked(problem, APPROXIMATE, candidates=12, queries=6, seed=seed) for seed in (3, 3, 4))
    assert first.tau == again.tau and first.tau.mean != other.tau.mean
    assert (first.candidates, first.of_candidates, first.queries, first.of_queries) == (12, 60, 6, 14)
    assert (first.top, first.chance) == (5, 5 / 12) and first.sampling_ci95 > 0
    assert first.ci95 == pytest.approx(hypot(first.tau.ci95, first.sampling_ci95))
    rows = sampled(np.random.default_rng(3), 12, 60)
    assert len(set(rows)) == 12 and (rows != np.arange(12)).any() and (np.diff(rows) > 0).all()
    for text in ("12 of 60 candidates", "6 of 14 queries", "seed 3", "95%"):
        assert text in first.basis
    assert "converged" in first.reference_said and first.reference_said.startswith("Reference, computed exactly")
    assert first.sentence.startswith("Inverse Hessian (LiSSA) against the exact answer to its question: ")


def test_the_interval_of_a_draw_covers_the_whole():
    """τ of all 300 candidates lies within the interval of most draws of 40; over queries alone it would not."""
    rng = np.random.default_rng(5)
    signal = rng.standard_normal((1, 300))  # what all queries share, so that the draw of candidates matters
    right = signal + 0.3 * rng.standard_normal((25, 300))
    other = signal + 0.8 * rng.standard_normal((1, 300)) + 0.3 * rng.standard_normal((25, 300))
    whole, covered, narrow = float(kendall_tau(right, other).mean()), 0, 0
    for seed in range(30):
        rows = sampled(np.random.default_rng(seed), 40, 300)
        found = against(by_hand(APPROXIMATE, other[:, rows]), by_hand(EXACT, right[:, rows]), of=(25, 300), seed=seed)
        covered += abs(found.tau.mean - whole) <= found.ci95
        narrow += abs(found.tau.mean - whole) <= found.tau.ci95
    assert covered >= 25 and narrow < covered


def test_the_jackknife_is_its_definition():
    rng = np.random.default_rng(1)
    right, other = rng.standard_normal((2, 4, 9))
    pair = [by_hand(APPROXIMATE, other), by_hand(EXACT, right)]
    without = np.array([np.mean(kendall_tau(np.delete(right, j, 1), np.delete(other, j, 1))) for j in range(9)])
    expected = 1.959964 * np.sqrt((1 - 9 / 90) * 8 / 9 * np.square(without - without.mean()).sum())
    assert jackknife(Together.of(pair), 90) == pytest.approx(expected)
    assert jackknife(Together.of(pair), 9) == 0


@pytest.mark.parametrize(("scoring", "why"), [
    (EXACT, "computed exactly"),
    (Scoring.parse({"estimator": "random"}), "baseline without a specification"),
    (Scoring.of("query_loss", *STEP, "cosine"), "no exact method"),
])
def test_what_has_no_reference_says_why(scoring, why):
    found = reference(scoring)
    assert isinstance(found, NotMeasured) and why in found.why
    assert "not measured; " in found.sentence and found.sentence.endswith(".")


def test_what_costs_too_much_says_how_much(problem, monkeypatch):
    monkeypatch.setattr("engine.analysis.spot_check.cost.guess", lambda scorings, part, count: 7200.0)
    found = checked(problem, APPROXIMATE, candidates=20, most_seconds=60)
    assert found.seconds == pytest.approx(7200) and "20 candidates takes about 2 h" in found.sentence
    assert isinstance(checked(problem, APPROXIMATE, candidates=20, most_seconds=7201), SpotCheck)


def test_a_reference_that_is_a_search_is_not_called_exact_and_what_did_not_converge_is_left_out():
    values = np.random.default_rng(0).standard_normal((3, 8))
    missed = by_hand(EXACT, values, np.arange(8) > 0)
    found = against(by_hand(APPROXIMATE, values), missed)
    assert (found.candidates, found.of_candidates, found.bounded) == (7, 8, True)
    assert "7 of 8 converged" in found.reference_said and found.basis.startswith("7 of 8 candidates")
    searched = by_hand(EXACT, values, negative_curvature=1.0)
    found = against(by_hand(APPROXIMATE, values), searched)
    assert not bounded(searched, APPROXIMATE) and "not bounded" in found.reference_said
    assert "a search for the answer" in found.sentence and "the exact answer" not in found.sentence
    lost = against(by_hand(APPROXIMATE, values), by_hand(EXACT, values, np.arange(8) > 6))
    assert isinstance(lost, NotMeasured) and "1 of 8 candidates converged" in lost.why


def test_whole_arrays_say_so_and_residuals_do_not_judge():
    """A residual far above 1 beside the same ranking: the judgement is the ranking's."""
    values = np.random.default_rng(0).standard_normal((6, 40))
    approximate = by_hand(APPROXIMATE, values, **{RELATIVE: 1.0})
    approximate = replace(approximate, residual=np.full(40, 2.4))
    found = against(approximate, by_hand(EXACT, values))
    assert found.words.word == "nearly the same order" and found.tau.mean == 1 and found.seed is None
    assert found.basis.startswith("All 40 candidates and 6 queries of the comparison")
    assert found.sampling_ci95 == 0 and "2.4" in approximate.convergence.remarks("LiSSA")[0]
    alone = against(by_hand(APPROXIMATE, values[:1]), by_hand(EXACT, values[:1]), of=(6, 400), seed=0)
    assert isnan(alone.ci95) and alone.words.word == "" and alone.tau.mean == 1
