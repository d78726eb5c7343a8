"""How far the derivative of a training reaches: errors against trainings of the tests' own, and what is said."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from engine.analysis.linear_range import LinearRange, LinearRangeRequest, reach, smoothness
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.differentiated_descent import DifferentiatedDescent
from engine.exact.differentiated_run import DifferentiatedRun
from engine.exact.replay import by_all_weights
from engine.exact.reweighted import LEAVING_OUT, reweighted
from engine.models.knobs import Knob, advice
from engine.models.recipe import Recipe
from engine.models.training import Training, train
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import Replay
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases
from tests.truth import language_cases

RECIPE = Recipe(epochs=3, batch_size=4, learning_rate=0.2, momentum=0.5)
REPLAY = {"kind": "infinitesimal"}, {"kind": "replay"}


def kinked():
    return nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 3))


def network(build=network_cases.smooth, recipe=RECIPE, **options):
    return network_cases.problem(build, (4,), recipe=recipe, build=build, n=10, queries=4, candidates=[3, 7], **options)


@pytest.fixture(scope="module")
def found():
    return LinearRangeRequest(candidates=2).run(network())


def test_errors_are_those_of_real_trainings(found):
    problem, behavior = network(), BEHAVIORS["query_loss"]
    rate = compute(problem, Scoring.of("query_loss", *REPLAY))[0].values
    for place, candidate in enumerate((3, 7)):
        for epsilon in (-1.0, 0.1):
            ends = []
            for weight in (1.0, 1.0 + epsilon):
                weights = torch.ones(problem.n, dtype=torch.float64)
                weights[candidate] = weight
                module = train(problem.build, problem.x, problem.y, RECIPE, problem.seed, weights=weights,
                               normalization="n", dtype=torch.float64).module
                with torch.no_grad():
                    ends.append(behavior.value(module(problem.queries), problem.query_labels).numpy())
            told = epsilon / problem.n * rate[:, place]
            expected = np.linalg.norm(ends[1] - ends[0] - told) / np.linalg.norm(told)
            rows = found.errors[(found.errors["candidate"] == candidate) & (found.errors["epsilon"] == epsilon)]
            assert rows["error"].item() == pytest.approx(expected, rel=1e-4)


def test_errors_of_a_smooth_training_shrink_with_the_change(found):
    errors = found.middle
    assert list(errors) == [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
    for small, large in ((1e-4, 1e-3), (1e-3, 1e-2)):
        assert errors[large] / errors[small] == pytest.approx(10, rel=0.2)
    assert found.linear[:4] == (1e-4, 1e-3, 1e-2, 1e-1) and np.isnan(found.precision)
    assert all(cosine > 0.99 for cosine in dict(found.smoothness).values())


@pytest.mark.slow
def test_a_rough_training_turns_its_derivative_more():
    problem = network(kinked, Recipe(epochs=20, batch_size=2, learning_rate=0.5, momentum=0.9))
    turned = dict(smoothness(problem, "query_loss", Replay(), Options()))
    rough = LinearRange("query_loss", reach(problem, "query_loss", Replay(), (1e-2,)))
    assert min(turned.values()) < 0.9 and not rough.linear and rough.sentence.startswith("Not smooth: ")


def test_single_precision_is_compared_with_double():
    single = LinearRangeRequest(candidates=1).run(network(dtype="float32"))
    assert 1e-9 < single.precision < 1e-3


def test_a_run_with_other_weights_is_differentiated_there():
    """Weights of two fit the run in which an example stands twice in every batch."""
    problem = network()
    weights = torch.ones(problem.n, dtype=torch.float64)
    weights[3], step = 2.0, 1e-4
    recipe, build = problem.training()

    def run(given):
        return DifferentiatedRun(Training(build, problem.x, problem.y, recipe, 0, given, "n", problem.loss,
                                          torch.float64), Options())

    slope = torch.randn(1, problem.parameters, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    moved = [weights.index_add(0, torch.tensor([5]), torch.tensor([sign * step]).double()) for sign in (1, -1)]
    quotient = ((run(moved[0]).end - run(moved[1]).end) @ slope[0]) / (2 * step)
    assert run(weights).adjoint(slope, Options())[0, 5].item() == pytest.approx(problem.n * quotient.item(), rel=1e-5)


def by_hand(errors):
    table = pd.DataFrame([{"candidate": 1, "epsilon": epsilon, "error": error} for epsilon, error in errors.items()])
    return LinearRange("query_loss", table)


@pytest.mark.parametrize(("errors", "said"), [
    ({-0.1: 0.02, 0.1: 0.04, LEAVING_OUT: 0.05},
     "The derivative is within 10% of actual retraining for every tested change of a weight, 0.1 and 1; when an "
     "example is left out, it is off by 5%."),
    ({0.01: 0.3, 0.1: 0.04}, "of actual retraining for changes of a weight by 0.1; its error is 30% for 0.01."),
    ({0.01: 0.3, 0.1: 0.4}, "Not smooth: the derivative is not within 10% of actual retraining for any tested "
                            "change of a weight, 0.01 and 0.1."),
    ({0.01: np.nan}, "cannot be tested")])
def test_a_sentence_says_what_was_measured(errors, said):
    assert said in by_hand(errors).sentence


def descended(soft, k, epsilon, process):
    weights = torch.zeros(soft.dimension, soft.classes, dtype=torch.float64)
    for _ in range(process.steps):
        weights = weights - process.eta * naive.gradient(weights, soft, extra=[(k, int(soft.y[k]), epsilon / soft.n)])
    return naive.values(BEHAVIORS["soft_margin"], soft, weights).numpy()


def test_errors_of_softmax_regression_are_those_of_real_descents():
    soft, process = naive.problem(n=30, queries=3).with_candidates([7, 2]), Replay(eta=0.5, steps=25)
    rate = compute(soft, Scoring.of("soft_margin", {"kind": "infinitesimal"}, process))[0].values
    found = LinearRangeRequest(behavior="soft_margin", process=process).run(soft)
    assert len(found.errors) == 20 and np.isnan(found.precision)
    for row in found.errors.itertuples():
        change = descended(soft, row.candidate, row.epsilon, process) - descended(soft, row.candidate, 0.0, process)
        told = row.epsilon / soft.n * rate[:, (7, 2).index(row.candidate)]
        assert row.error == pytest.approx(np.linalg.norm(change - told) / np.linalg.norm(told), rel=1e-5)
    assert found.middle[1.0] / found.middle[1e-2] == pytest.approx(100, rel=0.3)
    assert min(dict(found.smoothness).values()) > 0.9 and "float64 throughout" in found.precision_sentence


def test_a_descent_with_other_weights_is_differentiated_there():
    soft, process, step = naive.problem(n=30, queries=3), Replay(eta=0.5, steps=25), 1e-5
    weights = torch.linspace(0.5, 2.0, soft.n, dtype=torch.float64)
    behavior = BEHAVIORS["soft_margin"]
    found = by_all_weights(soft, process, behavior, weights, Options())

    def mean(k, sign):
        given = weights.index_add(0, torch.tensor([k]), torch.tensor([sign * step]).double())
        end = DifferentiatedDescent(soft, process.eta, process.steps, Options(), given).end
        return naive.values(behavior, soft, end).mean().item()

    for k in (2, 11):
        assert found[k].item() == pytest.approx(soft.n * (mean(k, 1) - mean(k, -1)) / (2 * step), rel=1e-6)


def test_in_little_memory_and_where_descents_diverge():
    soft = naive.problem(n=30, queries=3, l2=1.0)
    rows, tight = torch.tensor([7, 2]), Options(budget=1 << 10)
    wide, narrow = (reweighted(soft, (-1.0, 0.5), Replay(eta=0.5, steps=9), rows, options)
                    for options in (Options(), tight))
    for one, other in zip(wide, narrow, strict=True):
        assert torch.allclose(one.terms[0].change, other.terms[0].change, rtol=1e-9, atol=1e-15)
        assert one.converged.all()
    blown = reweighted(soft, (0.5,), Replay(eta=50, steps=2_000), rows, Options())[0]
    assert not blown.converged.any()


@pytest.mark.parametrize(("errors", "said"), [
    ({0.01: np.inf, 0.1: 0.04}, "its error is infinite, because a training diverges for 0.01")])
def test_a_training_that_diverges_counts_as_an_error(errors, said):
    assert said in by_hand(errors).sentence


def test_advice_names_what_this_training_has():
    recipe = RECIPE.model_copy(update={"batch_size": 4})
    found = {knob.name: knob for knob in network(kinked, recipe).knobs(Replay())}
    assert found["batch size"].here == "4" and found["activations with a kink"].here == "2 layers"
    assert found["max-pooling"].here == "none" and not found["max-pooling"].smoother
    assert advice(tuple(found.values())) == (
        "A smaller learning rate, larger batches and GELU for ReLU may make this training smoother; try it, and check "
        "again.")
    assert {"warm-up", "Adam's ε"} <= {knob.name for knob in language_cases.problem("adapters").knobs(Replay())}
    assert advice(naive.problem().knobs(Replay())).startswith("A smaller η may make this training smoother;")
    assert advice([Knob("dropout", "none")]) == ""


@pytest.mark.parametrize("epsilon", [0.0, 1.5, -0.1])
def test_changes_beyond_leaving_out_are_refused(epsilon):
    with pytest.raises(InvalidInput, match="at most 1"):
        reach(network(), "query_loss", Replay(), epsilons=(epsilon,))
