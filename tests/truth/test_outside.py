"""Candidates outside the training set, against loops in float64 over the data with the new example put behind them.

L_D + α ℓ(z) of a new z is Σ_i w_i ℓ(z_i) over n + 1 examples with w = 1/n for the training examples and α for z; where
nothing of the training enters, a new example has the scores that it has as a training example.
"""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.intervened import ModuleFamily
from engine.exact.network_optima import origin_of
from engine.problems import ModuleProblem, SoftmaxProblem
from engine.problems.candidates import Shared
from engine.problems.memory import ProblemMemory
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as softmax
from tests.truth import cases, language_cases
from tests.truth.naive import SMOOTH, Naive
from tests.truth.naive_language import NaiveLanguage, log_likelihood

N, ALPHA, LATEST = 24, 0.03, [26, 24, 25]
UP, DERIVATIVE = {"kind": "upweight", "alpha": ALPHA}, {"kind": "infinitesimal"}
ADD, LABEL_FREE = {"kind": "add_occurrence"}, {"kind": "auxiliary"}
STEP, DESCENT = {"kind": "one_step", "eta": 0.1}, {"kind": "replay", "eta": 0.1, "steps": 30}
STEPS = [(ADD, STEP, "exact"), (ADD, {"kind": "unrolled", "eta": 0.1, "steps": 3}, "exact"),
         (ADD, {"kind": "trajectory", "eta": 0.1, "checkpoints": 2}, "exact"),
         (ADD, {"kind": "trajectory", "eta": 0.1, "checkpoints": 2}, "first_order"),
         (LABEL_FREE, STEP, "exact"), (ADD, STEP, "first_order"), (ADD, STEP, "gradient_norm"), (ADD, STEP, "random")]
OF_NETWORKS = [(ADD, STEP, "cosine"), (LABEL_FREE, STEP, "cosine"), (LABEL_FREE, STEP, "ntk"),
               (ADD, STEP, "representer")]


def scores(problem, intervention, process, estimator="exact", behavior="query_loss"):
    return compute(problem, Scoring.of(behavior, intervention, process, estimator))[0]


def near(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.fixture(scope="module")
def regression():
    """(the problem, one whose training set holds the new examples too): same θ_D, so that steps agree."""
    whole = softmax.problem(n=N + 3, l2=0.05)
    problem = SoftmaxProblem(whole.x[:N], whole.y[:N], whole.queries, whole.query_labels, l2=0.05, classes=3)
    return problem.with_outside(whole.x[N:], whole.y[N:]).with_candidates(LATEST), whole


def with_optimum_of(whole, problem):
    """The problem of all examples at the parameters of the other one."""
    held = SoftmaxProblem(*whole.examples, l2=whole.l2)
    held.shared.model.memo("fit", lambda: problem.fit)
    return held.with_candidates(LATEST)


@pytest.mark.parametrize(("intervention", "process", "estimator"), STEPS)
def test_steps_of_softmax_regression(regression, intervention, process, estimator):
    problem, whole = regression
    if process["kind"] == "trajectory":
        weights = [softmax_descent(problem, steps) for steps in (50, 100)]
        held = with_optimum_of(whole, problem)
        expected = sum(scores(at(held, point), ADD, {**STEP, "eta": 0.1}, estimator).values for point in weights)
        process = {**process, "every": 50}
    else:
        expected = scores(with_optimum_of(whole, problem), intervention, process, estimator).values
    near(scores(problem, intervention, process, estimator).values, expected)


def softmax_descent(problem, steps, weight=0.0, row=None, eta=0.1):
    """W (D, C) after full-batch steps from zero on L_D + weight · ℓ(z_row)."""
    x, y = torch.cat([problem.x, problem.outside.x]), torch.cat([problem.y, problem.outside.y])
    weights = torch.zeros(problem.dimension, problem.classes, dtype=torch.float64)
    for _ in range(steps):
        leaf = weights.clone().requires_grad_()
        value = cross_entropy(x[:problem.n] @ leaf, y[:problem.n]) + 0.5 * problem.l2 * leaf.square().sum()
        if row is not None:
            value = value + weight * cross_entropy(x[row:row + 1] @ leaf, y[row:row + 1])
        weights = weights - eta * torch.autograd.grad(value, leaf)[0]
    return weights


def at(problem, weights):
    held = SoftmaxProblem(*problem.examples, l2=problem.l2)
    held.shared.model.memo("fit", lambda: problem.fit.__class__(weights, 0.0, 0, 0))
    return held


def optimum(problem, row, alpha):
    """By Newton's method on all examples put together, with weights 1/n and α."""
    x, y = torch.cat([problem.x, problem.outside.x]), torch.cat([problem.y, problem.outside.y])
    shares = torch.zeros(len(y), dtype=torch.float64)
    shares[:problem.n] = 1 / problem.n
    shares[row] += alpha

    def objective(flat):
        w = flat.view(problem.dimension, problem.classes)
        return shares @ cross_entropy(x @ w, y, reduction="none") + 0.5 * problem.l2 * flat.square().sum()

    flat = torch.zeros(problem.parameters, dtype=torch.float64)
    for _ in range(40):
        slope = torch.autograd.functional.jacobian(objective, flat)
        flat = flat - torch.linalg.solve(torch.autograd.functional.hessian(objective, flat), slope)
    return flat.view(problem.dimension, problem.classes)


def log_likelihoods(problem, weights):
    return -cross_entropy(problem.queries @ weights, problem.query_labels, reduction="none")


@pytest.mark.parametrize("process", [{"kind": "reoptimize"}, {"kind": "retrain", "seeds": 1},
                                     {"kind": "local_search", "iterations": 400}], ids=lambda one: one["kind"])
def test_optima_of_softmax_regression(regression, process):
    problem, _ = regression
    base = log_likelihoods(problem, optimum(problem, 0, 0.0))
    expected = torch.stack([log_likelihoods(problem, optimum(problem, row, ALPHA)) - base for row in LATEST], 1)
    near(scores(problem, UP, process).values, expected.numpy(), 1e-9 if process["kind"] != "local_search" else 1e-6)


def central(problem, ends, step):
    """dB/dα by differences of what `ends` gives for (row, α)."""
    return (torch.stack([log_likelihoods(problem, ends(row, step)) - log_likelihoods(problem, ends(row, -step))
                         for row in LATEST], 1) / (2 * step)).numpy()


def test_the_derivatives_of_an_optimum_and_of_a_descent(regression):
    problem, _ = regression
    near(scores(problem, DERIVATIVE, {"kind": "local_response"}).values,
         central(problem, lambda row, alpha: optimum(problem, row, alpha), 1e-5), 1e-6)
    near(scores(problem, DERIVATIVE, DESCENT).values,
         central(problem, lambda row, alpha: softmax_descent(problem, 30, alpha, row), 1e-4), 1e-6)


@pytest.mark.parametrize(("intervention", "process", "estimator"), [
    *((DERIVATIVE, {"kind": "local_response", "damping": 0.1}, solver)
      for solver in ("exact", "cg", "lissa", "arnoldi", "kfac")),
    *((DERIVATIVE, DESCENT, name) for name in ("exact", "dvemb", "tracin_run", "in_run_shapley", "source")),
    (UP, {"kind": "reoptimize"}, "cg"), (UP, {"kind": "reoptimize", "baseline": "reoptimized"}, "exact")])
def test_a_copy_of_a_training_example_has_the_derivative_of_the_original(regression, intervention, process, estimator):
    """ℓ is the same function of it, and the curvature and the descent are those of the training set alone."""
    problem, _ = regression
    copies = problem.with_outside(problem.x[:3], problem.y[:3])
    originals = copies.with_candidates(range(3))
    near(scores(copies, intervention, process, estimator).values,
         scores(originals, intervention, process, estimator).values, 1e-9)


def test_training_examples_and_new_ones_in_one_ranking(regression):
    problem, _ = regression
    both = problem.with_candidates([3, 26, 24, 5])
    for intervention, process in ((ADD, STEP), (UP, {"kind": "reoptimize"}), (DERIVATIVE, {"kind": "local_response"})):
        together = scores(both, intervention, process)
        assert together.candidates.tolist() == [3, 26, 24, 5]
        for rows, columns in (([3, 5], [0, 3]), ([26, 24], [1, 2])):
            near(scores(problem.with_candidates(rows), intervention, process).values, together.values[:, columns])


@pytest.fixture(scope="module")
def network():
    whole = cases.problem("tanh", "float64")
    problem = ModuleProblem(whole.network, whole.x[:7], whole.y[:7], whole.queries, whole.query_labels, l2=cases.L2,
                            recipe=whole.recipe, build=whole.build, seed=whole.seed)
    problem.checkpoints = whole.checkpoints
    problem = problem.with_outside(whole.x[7:], whole.y[7:]).with_candidates([9, 7])
    naive = Naive(problem)
    naive.x, naive.y = whole.x.double(), whole.y.tolist()
    return problem, whole.with_candidates([9, 7]), naive


@pytest.mark.parametrize(("intervention", "process", "estimator"), [*STEPS, *OF_NETWORKS])
def test_steps_of_a_network(network, intervention, process, estimator):
    problem, whole, _ = network
    behavior = "query_logit" if intervention is LABEL_FREE else "query_loss"
    near(scores(problem, intervention, process, estimator, behavior).values,
         scores(whole, intervention, process, estimator, behavior).values)


def test_steps_of_a_network_are_those_of_a_loop(network):
    problem, _, naive = network
    for name in SMOOTH:
        near(scores(problem, ADD, STEP, behavior=name).values,
             naive.differences(name, [naive.steps(k, 0.1, 1) for k in naive.candidates]))


@pytest.mark.parametrize("estimator", ["exact", "cg_gauss_newton", "datainf"])
def test_linear_responses_of_a_network(network, estimator):
    """The matrix is that of the training set alone."""
    problem, _, naive = network
    process = {"kind": "local_response", "damping": 0.5}
    matrix = naive.hessian(naive.objective) if estimator == "exact" else naive.gauss_newton()
    damped = matrix + 0.5 * torch.eye(len(matrix), dtype=torch.float64)
    expected = naive.directional("query_loss", [-torch.linalg.solve(damped, naive.gradient(
        lambda at, k=k: naive.loss(k, at))) for k in naive.candidates])
    found = scores(problem, DERIVATIVE, process, estimator).values
    if estimator == "datainf":  # its own matrix, that of the same examples
        copied = problem.with_outside(problem.x[:2], problem.y[:2])
        found, expected = (scores(one, DERIVATIVE, process, estimator).values
                           for one in (copied, copied.with_candidates([0, 1])))
    near(found, expected, {"exact": 1e-9, "cg_gauss_newton": 0.03}.get(estimator, 1e-9))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["reoptimize", "local_search"])
def test_optima_of_a_network(network, kind):
    """Newton's method with dense Hessians, from where the engine's search without an intervention ends."""
    held, _, same = network
    problem, naive = held.holding(held.examples, Shared(ProblemMemory(), ProblemMemory())), copy.copy(same)
    problem.decay = naive.l2 = 0.1
    start = origin_of(ModuleFamily(problem, 0.0, Options())).minimum.theta

    def newton(alpha, k):
        theta = start
        for _ in range(8):
            def objective(at):
                return naive.objective(at) + alpha * naive.loss(k, at)
            slope = naive.gradient(objective, theta)
            theta = theta - torch.linalg.solve(naive.hessian(objective, theta), slope)
        assert slope.norm() < 1e-12
        return theta

    process = {"kind": kind, "baseline": "reoptimized", **({"iterations": 500} if kind == "local_search" else {})}
    expected = naive.differences("query_loss", [newton(1e-4, k) for k in naive.candidates], newton(0.0, 0))
    near(scores(problem, {**UP, "alpha": 1e-4}, process).values, expected, 1e-5)


def test_retraining_a_network_with_one_more_example(network):
    problem, _, naive = network
    n, rows = problem.n, naive.candidates
    moved, plain = [], None
    held_x, held_y = naive.x, naive.y
    for k in rows:
        naive.x, naive.y, naive.n = torch.cat([held_x[:n], held_x[k:k + 1]]), [*held_y[:n], held_y[k]], n + 1
        usual = [(n + 1) / n] * n
        moved.append(naive.trained(problem.build, problem.recipe, problem.seed, [*usual, (n + 1) * ALPHA], over="all"))
        plain = naive.trained(problem.build, problem.recipe, problem.seed, [*usual, 0.0], over="all")
    naive.x, naive.y, naive.n = held_x, held_y, n
    near(scores(problem, UP, {"kind": "retrain", "seeds": 1}).values, naive.differences("query_loss", moved, plain))


@pytest.mark.grid
@pytest.mark.parametrize("which", ["adapters", "all parameters"])
@pytest.mark.parametrize(("intervention", "process", "estimator"), [
    *STEPS[:-1], *OF_NETWORKS, (ADD, {"kind": "trajectory", "eta": 0.1, "checkpoints": 2}, "less")])
def test_steps_of_a_language_model(which, intervention, process, estimator):
    whole = language_cases.problem(which, candidates=[6, 5])
    behavior = "answer_logit" if intervention is LABEL_FREE else "response_loss"
    if estimator == "less":
        point = whole.checkpoints[0]
        whole.checkpoints = tuple(type(point)(one.theta, one.learning_rate, 0.1 * one.theta, one.theta.square(), 3)
                                  for one in whole.checkpoints)
    problem = type(whole)(whole.network, whole.x[:5], None, whole.queries, None, **whole._settings)
    new = problem.with_outside(whole.x[5:], torch.zeros(2)).with_candidates([6, 5])
    near(scores(new, intervention, process, estimator, behavior).values,
         scores(whole, intervention, process, estimator, behavior).values)


def test_retraining_a_language_model_with_one_more_record():
    whole = language_cases.problem()
    problem = type(whole)(whole.network, whole.x[:5], None, whole.queries, None, **whole._settings)
    new = problem.with_outside(whole.x[6:], torch.zeros(1))
    naive = NaiveLanguage(whole, language_cases.TRAIN, language_cases.QUERIES, language_cases.WORDS,
                          language_cases.SCALING)
    naive.x, naive.n, naive.y = [*naive.x[:5], naive.x[6]], 6, [0] * 6
    moved, plain = (naive.adamw(problem.build, problem.recipe, problem.seed, [6 / 5] * 5 + [weight], "all")
                    for weight in (6 * ALPHA, 0.0))
    near(scores(new, UP, {"kind": "retrain", "seeds": 1}, behavior="response_loss").values,
         naive.differences("response_loss", [moved], plain), 1e-7)


@pytest.mark.parametrize(("intervention", "process"), [
    ({"kind": "remove"}, {"kind": "reoptimize"}), ({"kind": "relabel", "label": 1}, {"kind": "reoptimize"}),
    ({"kind": "upweight", "alpha": -0.01}, {"kind": "reoptimize"})])
def test_what_removes_is_refused(regression, network, intervention, process):
    for problem in (regression[0], network[0]):
        with pytest.raises(InvalidInput, match=r"asks about training examples, and candidate \d+ is not one of"):
            scores(problem, intervention, process)
        inside = problem.with_candidates([0, 1])
        assert scores(inside, {**intervention, "alpha": 0.01} if "alpha" in intervention else intervention, {
            "kind": "local_search", "iterations": 2}).values.shape[1] == 2


def test_the_batches_of_a_network_hold_its_training_examples_alone(network):
    for estimator in ("exact", "dvemb", "tracin_run", "in_run_shapley", "source"):
        with pytest.raises(InvalidInput, match="each batch is about training examples"):
            scores(network[0], DERIVATIVE, {"kind": "replay"}, estimator)


@pytest.mark.parametrize(("x", "y", "said"), [
    (torch.zeros(2, 4), torch.zeros(2), "give at least one such input"), (torch.zeros(2, 5), [0, 3], "outside 0…2"),
    (torch.zeros(2, 5), [0], "a label for each"), (torch.zeros(0, 5), torch.zeros(0), "at least one"),
    (torch.zeros(1, 5), [0.5], "flat list")])
def test_new_candidates_are_like_the_training_examples(regression, x, y, said):
    with pytest.raises(InvalidInput, match=said):
        regression[0].with_outside(x, y)


def test_other_new_candidates_have_other_scores_and_another_fingerprint(regression, network):
    """What is kept of some is not read for others of the same numbers."""
    for problem, wide in ((regression[0], 5), (network[0], 4)):
        first, second = (problem.with_outside(torch.full((2, wide), value), [0, 1]) for value in (0.5, -1.0))
        assert first.fingerprint != second.fingerprint != problem.fingerprint
        for intervention, process in ((ADD, STEP), (UP, {"kind": "local_search", "iterations": 3}),
                                      (UP, {"kind": "reoptimize"}), (DERIVATIVE, {"kind": "local_response"})):
            estimators = ["exact", "first_order"] if process is STEP else ["exact"]
            for estimator in estimators:
                a, b, again = (scores(one, intervention, process, estimator).values for one in (first, second, first))
                assert (np.abs(a - b) > 1e-9 * np.abs(a).max()).any() and np.array_equal(a, again)


LONG = language_cases.record("is it big old red so is it old a b c is red", "so it is so red is old is big", "b",
                             "a b c is")


@pytest.mark.parametrize(("intervention", "process", "estimator"), [
    STEPS[0], OF_NETWORKS[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in (STEPS[5], OF_NETWORKS[1]))])
def test_a_new_record_may_be_longer_than_all_others(intervention, process, estimator):
    """Rows are made wider; what is read of a record does not depend on their width."""
    train = (*language_cases.TRAIN, LONG)
    whole = language_cases.problem(train=train, candidates=[7, 2])
    problem = language_cases.problem().with_records([LONG, language_cases.TRAIN[2]])
    behaviors = ["answer_logit"] if intervention is LABEL_FREE else [
        "response_loss", "answer_margin", "contrast:it is old says c", "span@0:it is big"]
    for behavior in behaviors:
        near(scores(problem, intervention, process, estimator, behavior).values,
             scores(whole, intervention, process, estimator, behavior).values)
    assert [record.response for record in problem.texts.of(problem.units(problem.candidates).x)] == [
        LONG.response, language_cases.TRAIN[2].response]


class OfTokens(NaiveLanguage):
    """A record of number n or above is scored by some of its tokens: ℓ_M = −(1/|R|) Σ_{t ∈ M} log p_t."""

    def loss(self, k, theta, label=None):
        told, own = self.x[k], self.marked[k]
        if not own:
            return 0.0 * theta.sum()
        return -log_likelihood(self.passed(told, theta)[1], told, own) * len(own) / len(told["response"])


@pytest.mark.parametrize("tokens", ["answer", "explanation"])
def test_some_tokens_of_a_record(tokens):
    problem, train = language_cases.problem(), language_cases.TRAIN
    new = problem.with_records([train[row] for row in (1, 5, 0)], tokens=tokens)
    naive = OfTokens(new, [*train, train[1], train[5], train[0]], language_cases.QUERIES, language_cases.WORDS,
                     language_cases.SCALING)
    naive.n = problem.n
    naive.marked = [told["response"] if k < problem.n else [told["answer"]] if tokens == "answer" and (
        told["answer"] is not None) else told["explanation"] if tokens != "answer" else []
        for k, told in enumerate(naive.x)]
    moved = [naive.steps(k, 0.1, 1) for k in naive.candidates]
    found = scores(new, ADD, STEP, behavior="response_loss").values
    near(found, naive.differences("response_loss", moved), 1e-8)
    assert (found[:, 1] == 0).all() == (tokens == "answer")  # the record without an answer
    first = scores(new, ADD, STEP, "first_order", "response_loss").values
    near(first, naive.directional("response_loss", [-0.1 * naive.gradient(lambda at, k=k: naive.loss(k, at))
                                                    for k in naive.candidates]), 1e-8)


def test_tokens_that_no_record_has_are_refused():
    with pytest.raises(InvalidInput, match="No candidate has an answer whose tokens could be scored"):
        language_cases.problem().with_records([language_cases.TRAIN[5]], tokens="answer")
