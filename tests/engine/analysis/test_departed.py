"""Stations where an estimator departs from its specification: normalised, preconditioned, last layer, checkpoints."""

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau

from engine.analysis.chain import CHECKPOINTS, ERROR_A, ERROR_B, OF_A, OF_B, chain
from engine.analysis.explanation import explain
from engine.basics.options import Options
from engine.problems import ProblemSource
from engine.question.checkpoints import of_checkpoints
from engine.question.processes import OneStep, Trajectory
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring
from tests.engine.single_thread import one_thread  # noqa: F401

ADD = {"kind": "add_occurrence"}
TRAJECTORY = {"kind": "trajectory", "eta": 0.1, "checkpoints": 2}
NORMALISED, ADAM, LAST_LAYER = "normalised", "Adam's updates", "last layer alone"
LESS = Scoring.of("query_loss", ADD, TRAJECTORY, "less")
TRACIN = Scoring.of("query_loss", ADD, TRAJECTORY, "first_order")
GRADSIM = NAMED["gradsim"].implied()


@pytest.fixture(scope="module")
def network():
    """Trained by AdamW, so that it has moments, in float64."""
    recipe = {"epochs": 4, "batch_size": 10, "learning_rate": 0.01, "optimizer": "adamw", "checkpoints": 4}
    return ProblemSource(dataset="digits", n_train=40, n_queries=5, n_test=5, n_candidates=30, model="mlp",
                         recipe=recipe).build().problem.double()


def lengths(why):
    return {link.causes: link.length for link in why.links}


def naive(problem, first, second):
    """The mean Kendall distance of two scorings."""
    a, b = (scores.oriented for scores in compute(problem, [first, second], Options()))
    return np.mean([(1 - kendalltau(x, y).statistic) / 2 for x, y in zip(a, b, strict=True)])


def sums_to_the_whole(why):
    assert why.path == pytest.approx(sum(link.length for link in why.links), abs=1e-12)
    assert why.direct.mean == pytest.approx(why.path - why.slack, abs=1e-12) and why.slack >= 0
    assert sum(link.share for link in why.links) == pytest.approx(1)


def test_less_is_normalised_and_preconditioned_tracin(network):
    """By hand over both orders of the two departures; no error stands between, and none is called one."""
    why = explain(network, LESS, TRACIN)
    sums_to_the_whole(why)
    halves = {name: Scoring.of("query_loss", ADD, TRAJECTORY, name) for name in ("adam", "cosine")}
    distance = {pair: naive(network, *pair) for pair in itertools.combinations((LESS, *halves.values(), TRACIN), 2)}
    adam, cosine = halves.values()
    assert lengths(why) == {
        (NORMALISED + OF_A,): pytest.approx((distance[LESS, adam] + distance[cosine, TRACIN]) / 2),
        (ADAM + OF_A,): pytest.approx((distance[LESS, cosine] + distance[adam, TRACIN]) / 2)}
    assert why.orders == 2 and "the normalisation" in why.sentence and "preconditioning by Adam" in why.sentence
    assert "approximation error" not in why.sentence


def test_the_way_back_from_a_departure_is_as_long(network):
    there, back = explain(network, LESS, TRACIN), explain(network, TRACIN, LESS)
    turned = {tuple(cause.replace(OF_B, OF_A) for cause in causes): length for causes, length in lengths(back).items()}
    assert {causes: pytest.approx(length) for causes, length in turned.items()} == lengths(there)


def test_less_and_gradsim_differ_in_their_process_too(network):
    why = explain(network, LESS, GRADSIM)
    sums_to_the_whole(why)
    assert set(lengths(why)) == {(NORMALISED + OF_A,), (ADAM + OF_A,), ("T",)}
    assert lengths(why)["T",] == pytest.approx(naive(network, TRACIN, GRADSIM))


def test_the_last_layer_alone_is_the_whole_of_one_difference(network):
    representer = Scoring.of("query_loss", ADD, GRADSIM.process, "representer")
    why = explain(network, representer, GRADSIM)
    assert lengths(why) == {(LAST_LAYER + OF_A,): pytest.approx(naive(network, representer, GRADSIM))}
    assert why.slack == pytest.approx(0, abs=1e-12) and "the last layer alone" in why.sentence


def test_a_cosine_of_representations_is_normalised_and_has_no_other_error(network):
    why = explain(network, NAMED["repsim_cosine"].implied(), GRADSIM)
    sums_to_the_whole(why)
    causes = {cause for link in why.links for cause in link.causes}
    assert NORMALISED + OF_A in causes and ERROR_B in causes and ERROR_A not in causes
    normalised = lengths(why)[NORMALISED + OF_A,]
    assert normalised == pytest.approx(naive(network, NAMED["repsim_cosine"].implied(), NAMED["repsim"].implied()))


def test_departures_of_both_sides_are_told_apart(network):
    cosine = Scoring.of("query_loss", ADD, GRADSIM.process, "cosine")
    why = explain(network, LESS, cosine)
    sums_to_the_whole(why)
    assert set(lengths(why)) == {(NORMALISED + OF_A,), (ADAM + OF_A,), ("T",), (NORMALISED + OF_B,)}
    titles = [link.title for link in why.links]
    assert "the normalisation of the first answer" in titles and "the normalisation of the second" in titles


def test_which_checkpoints_are_a_cause_of_their_own(network):
    """Exact finite steps from four checkpoints against two, and against two of another size."""
    four, two = (Scoring.of("query_loss", ADD, {**TRAJECTORY, "checkpoints": count}) for count in (4, 2))
    why = explain(network, four, two)
    assert lengths(why) == {(CHECKPOINTS,): pytest.approx(naive(network, four, two))}
    larger = Scoring.of("query_loss", ADD, {**TRAJECTORY, "eta": 2.0})
    both = explain(network, four, larger)
    sums_to_the_whole(both)
    assert set(lengths(both)) == {("T",), (CHECKPOINTS,)} and both.orders == 2
    assert "the checkpoints" in both.sentence


def test_one_estimator_on_both_sides_has_the_way_it_had():
    a, b = (Scoring.of(behavior, ADD, TRAJECTORY, "less") for behavior in ("query_loss", "query_logit"))
    assert chain(a, b, 40).causes == (ERROR_A, "B", ERROR_B)


def test_checkpoints_are_taken_over_between_trajectories_alone():
    early, late = Trajectory(eta=0.1, checkpoints=2, every=5), Trajectory(eta=0.3, checkpoints=7)
    assert of_checkpoints(late, early) == Trajectory(eta=0.3, checkpoints=2, every=5)
    assert of_checkpoints(OneStep(eta=1), early) == OneStep(eta=1) and of_checkpoints(early, OneStep(eta=1)) == early
