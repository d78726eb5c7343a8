"""The paper's Proposition 1 for soft margin and query loss, under every exact process; and where it ends.

soft margin = φ(query loss) with φ(b) = b − log(1 − eᵇ), strictly increasing on b < 0. A single comparison
B(θ^cf) − B(θ_D) of one query therefore ranks candidates alike under both. A `trajectory` adds up such
differences at several checkpoints, and a sum is not a function of the other sum: there it need not hold.
"""

import functools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.recipe import Recipe
from engine.question.behaviors import BEHAVIORS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases
from tests.engine.exact.test_steps import loop

ADD, REOPTIMIZE = {"kind": "add_occurrence"}, {"kind": "reoptimize"}
eta = st.floats(1e-3, 20.0)
STEPS = st.one_of(
    st.tuples(st.sampled_from([ADD, {"kind": "auxiliary"}]), st.builds(lambda e: {"kind": "one_step", "eta": e}, eta)),
    st.tuples(st.just(ADD), st.builds(lambda e, n: {"kind": "unrolled", "eta": e, "steps": n}, eta, st.integers(2, 9))))
OPTIMA = st.tuples(
    st.one_of(st.builds(lambda a: {"kind": "upweight", "alpha": 10.0**a}, st.floats(-4, 0)),
              st.builds(lambda n: {"kind": "remove", "normalization": n}, st.sampled_from(["n-1", "n"])),
              st.just({"kind": "relabel", "label": 1})),
    st.sampled_from([REOPTIMIZE, {"kind": "reoptimize", "baseline": "reoptimized"}, {"kind": "retrain"}]))


@functools.lru_cache(maxsize=16)
def small(seed, classes):
    return naive.problem(n=24, d=3, classes=classes, queries=4, seed=seed, candidates=range(8), l2=1e-2)


def disagreements(first, second, noise):
    """Pairs of candidates that one query ranks one way under `first` and the other way under `second`, by more than
    `noise` times the query's largest score, and the share of pairs that could have been found."""
    scale = [np.abs(scores).max(1)[:, None, None] + 1e-12 for scores in (first, second)]
    gaps = [(scores[:, :, None] - scores[:, None]) / s for scores, s in zip((first, second), scale, strict=True)]
    clear = [np.abs(gap) > noise for gap in gaps]
    wrong = clear[0] & clear[1] & (np.sign(gaps[0]) != np.sign(gaps[1]))
    return wrong, np.mean(clear[0] & clear[1])


def check(problem, intervention, process, noise):
    loss, margin = (scores.values for scores in compute(
        problem, [Scoring.of(name, intervention, process) for name in ("query_loss", "soft_margin")]))
    wrong, covered = disagreements(loss, margin, noise)
    assert not wrong.any() and covered > 0.1
    if process.get("baseline") == "reoptimized":
        return  # its B(θ) is not that of the weights at hand
    before = BEHAVIORS["query_loss"].value(problem.query_logits, problem.query_labels).numpy()[:, None]
    phi = lambda b: b - np.log(-np.expm1(b))  # noqa: E731
    sure = before + np.maximum(loss, 0) < -1e-6  # where 1 − p keeps its digits
    before = np.broadcast_to(before, loss.shape)[sure]
    np.testing.assert_allclose(margin[sure], phi(before + loss[sure]) - phi(before), rtol=1e-7, atol=1e-9)


@settings(max_examples=40)
@given(seed=st.integers(0, 3), classes=st.integers(2, 4), specification=STEPS)
def test_steps_rank_alike(seed, classes, specification):
    check(small(seed, classes), *specification, noise=1e-9)


@settings(max_examples=25)
@given(seed=st.integers(0, 3), classes=st.integers(2, 4), specification=OPTIMA)
def test_optima_rank_alike(seed, classes, specification):
    """Noise: a gradient norm of a millionth of the force leaves a relative error of about 1e-6 / λ_min."""
    check(small(seed, classes), *specification, noise=1e-4)


@pytest.mark.parametrize("classes", [2, 4])
def test_a_derivative_ranks_alike(classes):
    """dφ(B)/dα = φ'(B) dB/dα with φ'(log p) = 1/(1 − p): one positive factor a query."""
    problem = small(0, classes)
    loss, margin = (compute(problem, Scoring.of(name, {"kind": "infinitesimal"}, {"kind": "local_response"}))[0].values
                    for name in ("query_loss", "soft_margin"))
    p = BEHAVIORS["probability"].value(problem.query_logits, problem.query_labels).numpy()[:, None]
    naive.assert_close(margin, loss / (1 - p), 1e-11)
    assert not disagreements(loss, margin, 1e-9)[0].any()


def test_other_behaviors_do_not_rank_alike():
    """So the comparison above can fail: hard margin and query logit are not functions of the query loss."""
    found = compute(small(0, 4), [Scoring.of(name, ADD, {"kind": "one_step", "eta": 0.1})
                                  for name in ("query_loss", "hard_margin", "query_logit")])
    for other in found[1:]:
        assert disagreements(found[0].values, other.values, 0.01)[0].any()


def test_a_trajectory_need_not_rank_alike():
    """A counterexample, by explicit parameters: each checkpoint ranks alike, but their sum turns a pair around."""
    process = {"kind": "trajectory", "eta": 2.0, "checkpoints": 4, "every": 3}
    problem = naive.problem(n=24, d=3, classes=3, queries=6, seed=3, candidates=[10, 4])
    scores = {}
    for name in ("query_loss", "soft_margin"):
        scores[name] = compute(problem, Scoring.of(name, ADD, process))[0].values
        expected = torch.stack([loop(problem, BEHAVIORS[name], process, k) for k in (10, 4)], 1)
        naive.assert_close(scores[name], expected, 1e-10)
    wrong, _ = disagreements(scores["query_loss"], scores["soft_margin"], 0.05)
    assert wrong[5].any()


@pytest.fixture(scope="module")
def network():
    """Trained in few large steps, so that runs differ much."""
    recipe = Recipe(epochs=10, batch_size=4, learning_rate=1.0)
    return network_cases.problem(network_cases.smooth, (4,), recipe=recipe, build=network_cases.smooth, n=12, queries=6)


RUNS = (({"kind": "remove"}, {"kind": "retrain"}), ({"kind": "upweight", "alpha": -0.05}, {"kind": "retrain"}),
        ({"kind": "relabel", "label": 1}, {"kind": "retrain"}), ({"kind": "infinitesimal"}, {"kind": "replay"}))


def of_runs(network, intervention, process, **runs):
    names = "query_loss", "probability", "soft_margin"
    asked = [Scoring.of(name, intervention, {**process, **runs}) for name in names]
    return [scores.values for scores in compute(network, asked)]


@pytest.mark.grid
@pytest.mark.parametrize(("intervention", "process"), RUNS)
@pytest.mark.parametrize("first", [0, 3])
def test_a_single_run_of_a_network_ranks_alike(network, intervention, process, first):
    loss, *others = of_runs(network, intervention, process, first=first)
    for other in others:
        wrong, covered = disagreements(loss, other, 1e-9)
        assert not wrong.any() and covered > 0.4


@pytest.mark.parametrize(("intervention", "process"), [RUNS[0], RUNS[-1]])
def test_a_mean_over_runs_need_not_rank_alike(network, intervention, process):
    """Each run ranks alike, but the mean weighs runs by another factor under each behavior."""
    loss, *others = of_runs(network, intervention, process, seeds=3)
    for other in others:
        assert disagreements(loss, other, 0.01)[0].any()
