"""Re-optimised scores against a dense float64 Newton on the intervened objective, spelt out with autograd."""

import functools

import numpy as np
import pytest
import torch

from engine.analysis.comparison import compare
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact import newton, optima
from engine.models import softmax
from engine.question.interventions import Relabel, Remove, Upweight
from engine.question.processes import Reoptimize, Retrain
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive

CANDIDATES = [9, 0]
BEHAVIORS = ("query_loss", "query_logit", "hard_margin")
ALL = [Remove(), Remove(normalization="n"), Relabel(label=1),
       *(Upweight(alpha=alpha) for alpha in (1e-5, 1e-3, 1e-1, 1.0, 30.0, -0.01, -0.0249))]
SOME = [Remove(), Relabel(label=1), Upweight(alpha=1e-3), Upweight(alpha=1.0)]
CASES = [*((value, False, "dense") for value in ALL), *((value, True, "dense") for value in SOME),
         *((value, False, "blocks") for value in SOME), *((value, True, "blocks") for value in SOME[::2])]
REMOVE = Scoring.of("query_loss", Remove(), Reoptimize())


def small(**options):
    return naive.problem(n=40, d=4, queries=5, **{"candidates": CANDIDATES, **options})


@functools.cache
def reference(intervention, intercept):
    """The naive optima without and with the intervention, each one's least curvature, and the norms of both gradients,
    which Newton's method does not bring to nothing."""
    problem = small(intercept=intercept)
    start = naive.optimum(problem)
    ends = [naive.optimum(problem, intervention, k, start) for k in CANDIDATES]
    curvatures = [naive.hessian(end, problem, **naive.intervened(problem, intervention, k))
                  for k, end in zip(CANDIDATES, ends, strict=True)]
    left = [(naive.gradient(end, problem, **naive.intervened(problem, intervention, k)).norm() + naive.gradient(
        start, problem).norm()).item() for k, end in zip(CANDIDATES, ends, strict=True)]
    return start, ends, [torch.linalg.eigvalsh(naive.gauge(dense, problem))[0].item() for dense in curvatures], left


@pytest.fixture
def seen(monkeypatch):
    """Every (tolerance, optima) that the Newton solver was given, and that were polished."""
    kept, real, step = [], optima.minimise, optima.polished

    def spy(data, objectives, start, terms, **options):
        kept.append((options["tolerance"], None))
        return real(data, objectives, start, terms, **options)

    def last(data, objectives, found, terms):
        kept[-1] = kept[-1][0], step(data, objectives, found, terms)
        return kept[-1][1]

    monkeypatch.setattr(optima, "minimise", spy)
    monkeypatch.setattr(optima, "polished", last)
    return kept


@pytest.mark.parametrize(("intervention", "intercept", "preconditioner"), CASES,
                         ids=lambda value: getattr(value, "title", None))
def test_matches_naive_newton(intervention, intercept, preconditioner, monkeypatch):
    """Within what the reported gradient norm allows: |ΔB| ≤ ‖∇_W B‖ ‖g‖ / λ_min(H); intercepts add to zero."""
    if preconditioner == "blocks":
        monkeypatch.setattr(softmax, "DENSE_LIMIT", 1)
    problem = small(intercept=intercept)
    found = compute(problem, [Scoring.of(behavior, intervention, Reoptimize()) for behavior in BEHAVIORS])
    start, ends, least, left = reference(intervention, intercept)
    steepest = 2.0 * problem.queries.norm(dim=1).max().item()
    for scores in found:
        before = naive.values(scores.scoring.readout, problem, start)
        expected = torch.stack([naive.values(scores.scoring.readout, problem, end) - before for end in ends], 1)
        assert scores.converged.all() and (scores.residual <= 1e-10).all()
        beside = 1e-12 + steepest * np.array(left) / np.array(least)
        allowed = beside + 2.0 * steepest * scores.residual / np.array(least)
        off = np.abs(scores.values - expected.numpy())
        assert (off <= allowed + scores.error).all() and (off <= scores.error + beside).all(), scores.scoring.title


@pytest.mark.grid
@pytest.mark.parametrize("preconditioner", ["dense", "blocks"])
@pytest.mark.parametrize("intervention", SOME, ids=lambda value: value.title)
def test_damping_holds_the_optimum_near_the_factual_model(intervention, preconditioner, seen, monkeypatch):
    """∇F_k(W) + δ(W − W_D) = 0 at the weights found, by autograd on the spelt-out objective."""
    if preconditioner == "blocks":
        monkeypatch.setattr(softmax, "DENSE_LIMIT", 1)
    problem, damping = small(), 0.05
    scores = compute(problem, Scoring.of("query_loss", intervention, Reoptimize(damping=damping)))[0]
    [(_, optima)] = seen
    assert scores.converged.all()
    for place, k in enumerate(CANDIDATES):
        found = optima.weights[..., place]
        change = naive.intervened(problem, intervention, k)
        left = naive.gradient(found, problem, **change) + damping * (found - problem.weights)
        assert left.norm() <= 1.1e-10 and (found - problem.weights).norm() > 1e-8


@pytest.mark.grid
@pytest.mark.parametrize("intervention", SOME, ids=lambda value: value.title)
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_the_reported_norm_is_that_of_the_objective(intervention, intercept, seen):
    """‖∇F_k‖ at the weights found, by autograd on the spelt-out objective: as reported, and within the tolerance."""
    problem = small(intercept=intercept)
    scores = compute(problem, Scoring.of("query_loss", intervention, Reoptimize()))[0]
    [(_, optima)] = seen
    for place, k in enumerate(CANDIDATES):
        change = naive.intervened(problem, intervention, k)
        norm = naive.gradient(optima.weights[..., place], problem, **change).norm().item()
        assert norm <= 1e-10 and scores.residual[place] == pytest.approx(norm, abs=1e-15, rel=1e-3)


@pytest.mark.parametrize("intervention", [Upweight(alpha=1e-8), Upweight(alpha=1e-5), Upweight(alpha=1e-1), Remove()],
                         ids=lambda value: value.title)
def test_small_interventions_are_solved_to_a_millionth_of_their_force(intervention, seen):
    """At α = 1e-5 a gradient norm of 1e-10 would be a visible share of the score, so the goal is lowered with α."""
    problem = small(candidates=range(6))
    scores = compute(problem, Scoring.of("query_loss", intervention, Reoptimize()))[0]
    [(goal, _)] = seen
    forces = [naive.gradient(problem.weights, problem, **naive.intervened(problem, intervention, k)).norm().item()
              for k in range(6)]
    np.testing.assert_allclose(goal, np.clip(1e-6 * np.array(forces), 1e-13, 1e-10), rtol=1e-6)
    assert (scores.residual <= goal.numpy()).all() and scores.converged.all()


def test_batches_and_preconditioners_do_not_change_the_scores(monkeypatch):
    problem = small(candidates=range(11))
    scorings = [Scoring.of("query_loss", value, Reoptimize()) for value in (Remove(), Upweight(alpha=0.1))]
    whole = compute(problem, scorings)
    for patch in (lambda *_: 1, lambda *_: 4):
        monkeypatch.setattr(optima, "batch_size", patch)
        for scores, expected in zip(compute(problem, scorings), whole, strict=True):
            naive.assert_close(scores.values, expected.values, 1e-6)
            assert scores.converged.all()
    monkeypatch.undo()
    chunked = compute(problem, scorings, Options(budget=12 * problem.x.numel() + 4_000))
    monkeypatch.setattr(softmax, "DENSE_LIMIT", 1)
    for other in (chunked, compute(small(candidates=range(11)), scorings)):
        for scores, expected in zip(other, whole, strict=True):
            naive.assert_close(scores.values, expected.values, 1e-6)


def test_other_candidates_get_their_own_preconditioner():
    """What is kept of one batch for the next α would only slow another batch of that size down: the work shows it."""
    one, other = small(candidates=range(10)), small(candidates=range(20, 30))
    spent = []
    compute(one, REMOVE)
    for problem in (one.with_candidates(range(20, 30)), other):
        spent.append(compute(problem, REMOVE)[0].provenance["convergence"])
    assert spent[0] == spent[1]


def test_batches_fit_into_the_budget():
    problem = small()
    sizes = [optima.batch_size(problem, budget) for budget in (1, 1 << 16, 1 << 18, 1 << 40)]
    assert sizes == sorted(sizes) and sizes[0] == 8 and sizes[-1] == 256 and 8 < sizes[1] < sizes[2] < 256


def test_scores_follow_the_candidates_order():
    forward, backward = (compute(small(candidates=order), REMOVE)[0] for order in ([3, 11, 7], [7, 11, 3]))
    assert backward.candidates.tolist() == [7, 11, 3]
    naive.assert_close(forward.values, backward.values[:, ::-1], 1e-6)


@pytest.mark.parametrize("intervention", [Remove(), Upweight(alpha=1e-3)], ids=lambda value: value.title)
def test_retraining_ends_where_reoptimisation_does(intervention):
    one, other = compute(small(), [Scoring.of("query_loss", intervention, process)
                                   for process in (Reoptimize(), Retrain(seeds=3))])
    np.testing.assert_array_equal(one.values, other.values)


def test_removal_is_a_fit_without_the_example_by_scikit_learn():
    problem = small(candidates=range(0, 40, 8))
    found = compute(problem, [Scoring.of(name, Remove(), Reoptimize()) for name in ("query_loss", "hard_margin")])
    before = naive.sklearn_weights(problem)
    for place, k in enumerate(problem.candidates.tolist()):
        rest = torch.arange(problem.n) != k
        after = naive.sklearn_weights(problem, problem.x[rest], problem.y[rest])
        for scores in found:
            readout = scores.scoring.readout
            expected = naive.values(readout, problem, after) - naive.values(readout, problem, before)
            naive.assert_close(scores.values[:, place], expected, 1e-6, 1e-9)


def test_upweighting_is_a_weighted_fit_by_scikit_learn():
    """L_D + α ℓ_k is a mean with weights 1 and 1 + αn, and λ, all divided by 1 + α."""
    alpha, problem = 0.25, small(candidates=[17])
    found = compute(problem, Scoring.of("query_loss", Upweight(alpha=alpha), Reoptimize()))[0]
    weights = np.ones(problem.n)
    weights[17] += alpha * problem.n
    after = naive.sklearn_weights(problem, sample_weight=weights, l2=problem.l2 / (1 + alpha))
    readout = found.scoring.readout
    expected = naive.values(readout, problem, after) - naive.values(readout, problem, naive.sklearn_weights(problem))
    naive.assert_close(found.values[:, 0], expected, 1e-6)


def test_relabelling_as_what_it_is_changes_nothing_and_else_is_a_fit_by_scikit_learn():
    problem = small(candidates=range(6))
    found = compute(problem, Scoring.of("query_loss", Relabel(label=2), Reoptimize()))[0].values
    before = naive.values(REMOVE.readout, problem, naive.sklearn_weights(problem))
    for k in range(6):
        labels = problem.y.clone()
        labels[k] = 2
        expected = naive.values(REMOVE.readout, problem, naive.sklearn_weights(problem, y=labels)) - before
        naive.assert_close(found[:, k], expected, 1e-6, 1e-9)
        assert (np.abs(found[:, k]).max() < 1e-9) == (problem.y[k].item() == 2)


def test_a_label_that_does_not_exist_is_refused():
    with pytest.raises(InvalidInput, match="no class 3 to relabel to; use 0 to 2"):
        compute(small(), Scoring.of("query_loss", Relabel(label=3), Reoptimize()))


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_at_an_optimum_the_baselines_agree(intercept):
    found = compute(small(intercept=intercept), [
        Scoring.of(name, Remove(), Reoptimize(baseline=baseline))
        for name in ("query_loss", "query_logit") for baseline in ("factual", "reoptimized")])
    for factual, reoptimised in (found[:2], found[2:]):
        naive.assert_close(factual.values, reoptimised.values, 1e-8, 1e-12)


def test_away_from_an_optimum_the_baselines_differ_by_the_drift():
    problem, there = small(), small()
    problem.of_model("fit", lambda: softmax.Fit(there.weights * 0.9, 1.0, 0, 0))
    factual, corrected = (compute(problem, Scoring.of("query_loss", Remove(), Reoptimize(baseline=baseline)))[0].values
                          for baseline in ("factual", "reoptimized"))
    expected = compute(there, REMOVE)[0].values
    drift = naive.values(REMOVE.readout, there, there.weights) - naive.values(REMOVE.readout, there, problem.weights)
    naive.assert_close(corrected, expected, 1e-6)
    naive.assert_close(factual - corrected, np.repeat(drift[:, None], 2, 1), 1e-6)


def test_what_did_not_converge_is_flagged_and_left_out(monkeypatch):
    """After four rounds α = 1e-5 is there, α = 1 for some: the others are flagged with their norm, and not compared."""
    real = newton.minimise
    monkeypatch.setattr(optima, "minimise", lambda *a, **options: real(*a, **{**options, "max_rounds": 4}))
    problem = small(candidates=range(30))
    easy, hard = compute(problem, [Scoring.of("query_loss", Upweight(alpha=a), Reoptimize()) for a in (1e-5, 1.0)])
    assert easy.converged.all() and 0 < hard.converged.sum() < 30, "this test needs a mixture"
    assert ((hard.residual <= 1e-10) == hard.converged).all() and np.isfinite(hard.values).all()
    assert (np.isnan(hard.trusted).any(0) == ~hard.converged).all()
    assert hard.provenance["convergence"]["converged"] == hard.converged.sum()
    comparison = compare([[easy, hard]])
    assert comparison.left_out == (int((~hard.converged).sum()),)
    kept = hard.converged
    expected = compare([[_only(scores, kept) for scores in (easy, hard)]])
    np.testing.assert_array_equal(comparison.per_query["kendall_tau"], expected.per_query["kendall_tau"])
    none = _only(hard, ~kept)
    with pytest.raises(InvalidInput, match="No candidate is left to compare because they did not converge"):
        compare([[none, none]])


def _only(scores, kept):
    return type(scores)(scores.scoring, scores.values[:, kept], scores.candidates[kept], scores.converged[kept],
                        scores.residual[kept], scores.provenance)


def test_the_tolerance_is_respected_and_reported():
    problem = small(candidates=range(8))
    found = {tolerance: compute(problem, REMOVE, Options(tolerance=tolerance))[0] for tolerance in (1e-5, 1e-10, 1e-12)}
    for tolerance, scores in found.items():
        assert scores.converged.all() and (scores.residual <= tolerance).all()
        assert scores.provenance["convergence"]["tolerance"] == tolerance
    assert found[1e-5].residual.max() > 1e-10 and found[1e-10].residual.max() > 1e-12
    assert found[1e-5].provenance["convergence"]["double_passes"] < found[1e-12].provenance["convergence"][
        "double_passes"]


def test_duplicate_features_and_examples():
    """A Gram matrix of low rank, and two candidates that are one: their scores are equal."""
    x, y, q, yq = naive.arrays(n=30, d=3)
    x, q = np.concatenate([x, x, np.zeros((30, 1))], 1), np.concatenate([q, q, np.ones((len(q), 1))], 1)
    x[1], y[1] = x[0], y[0]
    problem = naive.SoftmaxProblem(x, y, q, yq, [0, 1, 2], l2=1e-3)
    for intervention in (Remove(), Upweight(alpha=0.1)):
        scores = compute(problem, Scoring.of("query_loss", intervention, Reoptimize()))[0]
        assert scores.converged.all()
        naive.assert_close(scores.values[:, 0], scores.values[:, 1], 1e-6)
        end = naive.optimum(problem, intervention, 2, problem.weights)
        expected = naive.values(scores.scoring.readout, problem, end) - naive.values(
            scores.scoring.readout, problem, problem.weights)
        naive.assert_close(scores.values[:, 2], expected, 1e-6)


def test_the_only_member_of_a_class():
    """Removing it leaves a class without examples, whose weights shrink; upweighting it is the hardest push."""
    x, y, q, yq = naive.arrays(n=30, d=3, classes=2)
    y = np.append(y[:-1], 2)
    problem = naive.SoftmaxProblem(x, y, q, yq, [29, 4], l2=1e-2)
    for intervention in (Remove(), Upweight(alpha=1.0)):
        scores = compute(problem, Scoring.of("query_loss", intervention, Reoptimize()))[0]
        end = naive.optimum(problem, intervention, 29, problem.weights)
        expected = naive.values(scores.scoring.readout, problem, end) - naive.values(
            scores.scoring.readout, problem, problem.weights)
        assert scores.converged.all()
        naive.assert_close(scores.values[:, 0], expected, 1e-6)


def test_an_optimum_at_infinity_is_finite_and_flagged_or_solved():
    """With a free intercept, a class without examples has no finite optimum; nothing may be NaN or hang."""
    x, y, q, yq = naive.arrays(n=30, d=3, classes=2)
    problem = naive.SoftmaxProblem(x, np.append(y[:-1], 2), q, yq, [29, 4], l2=1e-2, intercept=True)
    scores = compute(problem, REMOVE)[0]
    assert np.isfinite(scores.values).all() and scores.converged[1]
    assert scores.converged[0] == (scores.residual[0] <= 1e-10)


def test_removal_helps_where_the_example_harms():
    """Signs by an example that anybody would call mislabelled: without it, its true class becomes likelier."""
    x, y, _, _ = naive.arrays(n=60, d=3, classes=3, spread=1.0)
    wrong = y.copy()
    wrong[10] = (y[10] + 1) % 3
    problem = naive.SoftmaxProblem(x, wrong, x[10:11], y[10:11], [10], l2=1e-2)
    removed = compute(problem, REMOVE)[0]
    pushed = compute(problem, Scoring.of("query_loss", Upweight(alpha=0.1), Reoptimize()))[0]
    assert removed.values[0, 0] > 0 > pushed.values[0, 0]
    assert removed.oriented[0, 0] < 0 and pushed.oriented[0, 0] < 0


def test_cancelling_and_progress():
    calls, shares = [], []

    def check():
        calls.append(1)
        if len(calls) > 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        compute(small(), REMOVE, Options(check=check))
    compute(small(candidates=range(20)), REMOVE, Options(progress=shares.append))
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) >= 2
