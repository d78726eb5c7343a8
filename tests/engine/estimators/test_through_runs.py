"""Approximations of a training's derivative against loops in plain autograd, and against limits that are known."""

from itertools import combinations
from math import comb

import pytest
import torch
from torch.func import functional_call, hessian, jacrev

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.ekfac import factors, factors_over
from engine.estimators import ESTIMATORS
from engine.estimators.source import cut, powers, source_response
from engine.exact.local_response import local_response
from engine.exact.replay import replay, training_of
from engine.models.network import Network
from engine.models.recipe import Recipe
from engine.models.steps import Steps
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Infinitesimal, InfinitesimalDuring
from engine.question.processes import LocalResponse, Replay
from engine.question.specification import Specification
from tests.engine.exact import network_cases as cases
from tests.engine.problems_for_tests import assert_close, problem
from tests.truth import language_cases

DOUBLE = torch.float64
BEHAVIOR = BEHAVIORS["soft_margin"]
ROWS = torch.tensor([5, 1, 9, 13, 0, 7])
DESCENT = Recipe(epochs=2, batch_size=4, learning_rate=0.2)
MOMENTUM = Recipe(epochs=2, batch_size=5, learning_rate=0.1, momentum=0.8, weight_decay=0.02, schedule="cosine")
WHOLE = Recipe(epochs=6, batch_size=14, learning_rate=0.2, weight_decay=0.02)


def network(recipe, **options):
    found = cases.problem(cases.smooth, (4,), recipe=recipe, build=cases.smooth, **options)
    found.seed = 3
    return found


def scores(asked, name, process=None, intervention=None, rows=ROWS, behavior=BEHAVIOR):
    route = ESTIMATORS[name].route(asked, "replay")
    found = route(asked, [intervention or Infinitesimal()], process or Replay(), rows, Options())[0]
    return found.scores(behavior, asked.query_labels)


def plain(asked):
    """(θ_0, ℓ of one example at θ, B of the queries at θ), in plain autograd."""
    module = training_of(asked, asked.seed).start()
    shapes = [(name, own.shape, own.numel()) for name, own in module.named_parameters()]
    theta = torch.cat([own.detach().flatten() for own in module.parameters()])

    def named(flat):
        parts = flat.split([size for *_, size in shapes])
        return {name: part.view(shape) for (name, shape, _), part in zip(shapes, parts, strict=True)}

    def loss(flat, k):
        return asked.loss(functional_call(module, named(flat), (asked.x[k:k + 1],)), asked.y[k:k + 1])[0]

    def behavior(flat):
        return BEHAVIOR.value(functional_call(module, named(flat), (asked.queries,)), asked.query_labels)

    return theta, loss, behavior


def states(asked):
    """(θ_t, v_t, rows, η_t) of a plain loop with momentum and weight decay, and θ_T; ℓ of one example, B of queries."""
    recipe = asked.training()[0]
    theta, loss, behavior = plain(asked)
    velocity, found = torch.zeros_like(theta), []
    for epoch, batches in enumerate(training_of(asked, asked.seed).batches()):
        for rows in batches:
            found.append((theta, velocity, rows.tolist(), recipe.rate(epoch)))
            pull = torch.stack([jacrev(loss)(theta, k) for k in rows.tolist()]).mean(0) + recipe.weight_decay * theta
            velocity = recipe.momentum * velocity + pull
            theta = theta - recipe.rate(epoch) * velocity
    return found, theta, loss, behavior


def test_data_value_embeddings_are_the_recursion_with_products_of_gradients():
    asked = network(MOMENTUM)
    recipe, (steps, end, loss, behavior) = asked.recipe, states(asked)
    moved, speed = torch.zeros(len(ROWS), len(end), dtype=DOUBLE), torch.zeros(len(ROWS), len(end), dtype=DOUBLE)
    for theta, _, rows, rate in steps:
        own = torch.stack([jacrev(loss)(theta, k) for k in rows])
        push = moved @ own.T @ own / len(rows) + recipe.weight_decay * moved
        for place, k in enumerate(ROWS.tolist()):
            if k in rows:
                push[place] += asked.n / len(rows) * own[rows.index(k)]
        speed = recipe.momentum * speed + push
        moved = moved - rate * speed
    expected = jacrev(behavior)(end) @ moved.T
    assert_close(scores(asked, "dvemb"), expected, 1e-9)
    assert_close(scores(asked, "dvemb", rows=ROWS[:2]), expected[:, :2], 1e-9)


def test_data_value_embeddings_of_a_descent():
    soft = problem(n=20, queries=3)
    process = Replay(eta=0.5, steps=7)
    weights, moved = torch.zeros(soft.parameters, dtype=DOUBLE), torch.zeros(len(ROWS), soft.parameters, dtype=DOUBLE)

    def losses(flat):
        logits = soft.x @ flat.view(soft.dimension, soft.classes)
        return torch.nn.functional.cross_entropy(logits, soft.y, reduction="none")

    penalty = soft.penalty[:, None].expand(-1, soft.classes).flatten()
    for _ in range(process.steps):
        own = jacrev(losses)(weights)
        moved = moved - process.eta * (moved @ own.T @ own / soft.n + penalty * moved + own[ROWS])
        weights = weights - process.eta * (own.mean(0) + penalty * weights)
    slopes = jacrev(lambda flat: BEHAVIOR.value(soft.queries @ flat.view(soft.dimension, -1), soft.query_labels))
    expected = slopes(weights) @ moved.T
    assert_close(scores(soft, "dvemb", process), expected, 1e-9)
    assert_close(scores(soft, "dvemb", process, rows=ROWS[:2]), expected[:, :2], 1e-9)


@pytest.mark.parametrize("recipe", [DESCENT, MOMENTUM], ids=["descent", "momentum"])
def test_tracin_over_all_steps(recipe):
    asked = network(recipe)
    steps, end, loss, behavior = states(asked)
    expected = torch.zeros(len(asked.queries), asked.n, dtype=DOUBLE)
    for theta, _, rows, rate in steps:
        slopes = jacrev(behavior)(theta)
        for k in rows:
            expected[:, k] -= asked.n * rate / len(rows) * slopes @ jacrev(loss)(theta, k)
    assert_close(scores(asked, "tracin_run"), expected[:, ROWS], 1e-9)


@pytest.mark.parametrize("recipe", [DESCENT, MOMENTUM], ids=["descent", "momentum"])
def test_in_run_shapley_values_by_enumeration(recipe):
    asked = network(recipe, queries=2)
    steps, end, loss, behavior = states(asked)
    expected = torch.zeros(len(asked.queries), asked.n, dtype=DOUBLE)
    for theta, velocity, rows, rate in steps:
        slope, bend = jacrev(behavior)(theta), hessian(behavior)(theta)
        own = {k: -rate / len(rows) * jacrev(loss)(theta, k) for k in rows}
        drift = -rate * (recipe.momentum * velocity + recipe.weight_decay * theta)

        def value(chosen, slope=slope, bend=bend, own=own, drift=drift):
            moved = sum((own[k] for k in chosen), start=drift)
            return slope @ moved + 0.5 * (bend @ moved) @ moved

        for k in rows:
            others = [j for j in rows if j != k]
            for size in range(len(rows)):
                for chosen in combinations(others, size):
                    gain = value((*chosen, k)) - value(chosen)
                    expected[:, k] += asked.n * gain / len(rows) / comb(len(others), size)
    assert_close(scores(asked, "in_run_shapley"), expected[:, ROWS], 1e-9)


def test_in_run_shapley_values_of_a_descent_add_up_to_what_the_run_changed():
    soft, rows = problem(n=20, queries=3), torch.arange(20)
    gaps = []
    for eta, steps in ((0.02, 10), (0.01, 20)):
        run = Replay(eta=eta, steps=steps)
        found = scores(soft, "in_run_shapley", run, rows=rows).sum(1) / soft.n
        weights, drift = torch.zeros(soft.dimension, soft.classes, dtype=DOUBLE), 0.0
        start = BEHAVIOR.value(soft.queries @ weights, soft.query_labels)
        for _ in range(steps):
            shrunk = weights - eta * soft.penalty[:, None] * weights
            drift = drift + BEHAVIOR.value(soft.queries @ shrunk, soft.query_labels) \
                - BEHAVIOR.value(soft.queries @ weights, soft.query_labels)
            signals = (soft.x @ weights).softmax(1) - torch.nn.functional.one_hot(soft.y, soft.classes)
            weights = shrunk - eta * soft.x.T @ signals / soft.n
        changed = BEHAVIOR.value(soft.queries @ weights, soft.query_labels) - start - drift
        gaps.append(((found - changed).abs().max() / changed.abs().max()).item())
    assert gaps[0] < 1e-3 and gaps[1] < 0.3 * gaps[0]  # of third order in a step, and so of second over the run


def test_a_part_of_the_training_is_asked_for_by_all_of_them():
    asked = network(DESCENT)
    for name in ("dvemb", "tracin_run", "in_run_shapley"):
        parts = [scores(asked, name, intervention=InfinitesimalDuring(at=epoch)) for epoch in (1, 2)]
        assert_close(sum(parts), scores(asked, name), 1e-10)


@pytest.mark.slow
def test_a_language_model_trained_by_adamw():
    """Each example's own gradient, times what a step makes of a gradient, against queries' gradients there."""
    trained = language_cases.problem("adapters")
    behavior, rows = BEHAVIORS["answer_margin"], torch.arange(trained.n)
    steps = Steps(training_of(trained, trained.seed))
    expected, moment = torch.zeros(len(trained.queries), trained.n, dtype=DOUBLE), steps.beginning
    for step in steps.all:
        theta, *state = moment
        parts = {name: part.clone().requires_grad_() for name, part in steps.network.unflatten(theta).items()}
        losses, gradient = steps.losses(parts, step), steps.gradient(theta, step)
        made = jacrev(lambda own: steps.rule.step(theta, tuple(state), own, step.rate, step.count)[0])(  # noqa: B023
            gradient)
        network = steps.trained(theta)
        values = behavior.value(network.at(trained.queries, parts), trained.query_labels)
        slopes = torch.stack([_flat(torch.autograd.grad(one, parts.values(), retain_graph=True, materialize_grads=True))
                              for one in values])
        for place, k in enumerate(step.rows.tolist()):
            own = _flat(torch.autograd.grad(losses[place], parts.values(), retain_graph=True, materialize_grads=True))
            expected[:, k] += trained.n / len(step.rows) * slopes @ made @ own
        moment = steps.advance(moment, step)
    assert_close(scores(trained, "tracin_run", rows=rows, behavior=behavior), expected, 1e-6)
    exact = replay(trained, [Infinitesimal()], Replay(), rows, Options())[0].scores(behavior, trained.query_labels)
    assert _alike(scores(trained, "dvemb", rows=rows, behavior=behavior), exact) > 0.5


def _flat(parts):
    return torch.cat([part.flatten() for part in parts])


def _alike(a, b):
    return torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1]


def test_what_no_optimizer_of_its_own_scale_allows_is_refused():
    trained = language_cases.problem("adapters")
    with pytest.raises(InvalidInput, match="use `"):
        scores(trained, "in_run_shapley", behavior=BEHAVIORS["answer_margin"])
    assert not ESTIMATORS["in_run_shapley"].offered(trained, "replay")
    assert ESTIMATORS["tracin_run"].offered(trained, "replay")


@pytest.mark.slow
def test_source_of_a_language_model_trained_by_adamw():
    trained = language_cases.problem("adapters")
    behavior, rows = BEHAVIORS["answer_margin"], torch.arange(trained.n)
    exact = replay(trained, [Infinitesimal()], Replay(), rows, Options())[0].scores(behavior, trained.query_labels)
    found = scores(trained, "source", rows=rows, behavior=behavior)
    assert _alike(found, exact) > 0.7


@pytest.mark.parametrize("decoupled", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_source_of_adamw_whose_scale_stands_still_is_that_of_descent(decoupled):
    """Under a large ε every gradient is divided by ε."""
    descent, epsilon = network(WHOLE), 1e6
    decay = WHOLE.weight_decay / epsilon if decoupled else WHOLE.weight_decay
    adaptive = network(cases.Adaptive(**WHOLE.model_dump()).model_copy(update={
        "learning_rate": WHOLE.learning_rate * epsilon, "weight_decay": decay, "epsilon": epsilon,
        "betas": (0.0, 0.9), "decoupled": decoupled}))
    asked = (Replay(), ROWS, Options(), 1_000, 1, powers, True)
    expected = source_response(descent, *asked).scores(BEHAVIOR, descent.query_labels)
    assert_close(source_response(adaptive, *asked).scores(BEHAVIOR, adaptive.query_labels), expected, 1e-5)


@pytest.mark.parametrize("decoupled", [True, False])
def test_source_of_adamw_is_its_formula_written_out(decoupled):
    asked = network(cases.ADAPTIVE.model_copy(update={"decoupled": decoupled}))
    recipe, steps = cases.ADAPTIVE, Steps(training_of(asked, asked.seed))
    states, scales, moment = [], [], steps.beginning
    for step in steps.all:
        whole = steps.gradient(moment[0], step)
        left = min(1.0, recipe.clip / (float(whole.norm()) + 1e-6))
        pull = left * whole + (0.0 if decoupled else recipe.weight_decay * moment[0])
        second = recipe.betas[1] * moment[2] + (1 - recipe.betas[1]) * pull.square()
        states.append(moment[0])
        scales.append(left / ((second / (1 - recipe.betas[1] ** step.count)).sqrt() + recipe.epsilon))
        moment = steps.advance(moment, step)
    _, loss, behavior = plain(asked)
    eye, columns, expected = torch.eye(len(moment[0]), dtype=DOUBLE), jacrev(behavior)(moment[0]), 0.0
    for stretch, places in reversed(cut(len(steps), 3, 4)):
        here = [asked.with_network(_at(asked, states[place])) for place in places]
        curved = factors_over(here, Options()).applied(asked, eye, lambda values: values)
        scale = 1 / torch.stack([1 / scales[place] for place in places]).mean(0)[:, None]
        decay = recipe.weight_decay * eye
        flow = scale * curved + decay if decoupled else scale * (curved + decay)
        shrunk = torch.linalg.matrix_exp(-sum(steps.all[place].rate for place in stretch) * flow)
        mean = torch.stack([torch.stack([jacrev(loss)(states[place], k) for place in places]).mean(0)
                            for k in ROWS.tolist()])
        expected = expected - columns @ torch.linalg.solve(flow, eye - shrunk) @ (scale * mean.T)
        columns = columns @ shrunk
    assert_close(scores(asked, "source"), expected, 1e-6)


def test_source_with_a_segment_a_step_is_the_run_itself():
    soft, process = problem(n=20, queries=3), Replay(eta=0.5, steps=9)
    asked = network(WHOLE)
    for held, run in ((soft, process), (asked, Replay())):
        exact = replay(held, [Infinitesimal()], run, ROWS, Options())[0].scores(BEHAVIOR, held.query_labels)
        found = source_response(held, run, ROWS, Options(), 1_000, 1, powers, True).scores(BEHAVIOR, held.query_labels)
        assert_close(found, exact, 1e-8)


def test_source_of_a_run_that_has_come_to_rest_is_the_local_response():
    soft, process = problem(n=30, queries=3, l2=0.1), Replay(eta=1.0, steps=4_000)
    expected = local_response(soft, [Infinitesimal()], LocalResponse(), ROWS, Options())[0]
    found = source_response(soft, process, ROWS, Options(), 1).scores(BEHAVIOR, soft.query_labels)
    assert_close(found, expected.scores(BEHAVIOR, soft.query_labels), 1e-6)


def test_source_is_its_formula_with_ek_fac_written_out():
    asked = network(MOMENTUM)
    steps, end, loss, behavior = states(asked)
    columns, expected = jacrev(behavior)(end), 0.0
    total = len(steps)
    for stretch, places in reversed(cut(total, 3, 4)):
        here = [asked.with_network(_at(asked, steps[place][0])) for place in places]
        made = factors_over(here, Options())
        curved = made.applied(asked, torch.eye(len(end), dtype=DOUBLE), lambda values: values)
        curved += asked.recipe.weight_decay * torch.eye(len(end), dtype=DOUBLE)
        time = sum(steps[place][3] for place in stretch) / (1 - asked.recipe.momentum)
        shrunk = torch.linalg.matrix_exp(-time * curved)
        mean = torch.stack([torch.stack([jacrev(loss)(steps[place][0], k) for place in places]).mean(0)
                            for k in ROWS.tolist()])
        pulled = torch.linalg.solve(curved, torch.eye(len(end), dtype=DOUBLE) - shrunk)
        expected = expected - columns @ pulled @ mean.T
        columns = columns @ shrunk
    assert_close(scores(asked, "source"), expected, 1e-7)


def _at(asked, theta):
    found = Network(asked.network.module, asked.network.selection, device=theta.device, dtype=theta.dtype)
    with torch.no_grad():
        for name, value in found.unflatten(theta).items():
            found.module.get_parameter(name).copy_(value)
    found.theta = theta.clone()
    return found


def test_factors_of_one_model_are_its_own():
    asked = network(DESCENT)
    one, two = factors(asked, Options()), factors_over([asked, asked], Options())
    columns = torch.randn(asked.parameters, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    assert_close(two.inverse(asked, columns, 0.1), one.inverse(asked, columns, 0.1), 1e-9)


def test_segments_cover_the_run_once():
    found = cut(10, 3, 4)
    assert [place for stretch, _ in found for place in stretch] == list(range(10))
    assert all(place in stretch for stretch, places in found for place in places)
    assert [len(places) for _, places in cut(2, 5, 4)] == [1, 1]


def test_source_has_no_part_of_the_training():
    asked = Specification.of("query_loss", InfinitesimalDuring(at=1), Replay())
    assert "does not target `infinitesimal_during`" in ESTIMATORS["source"].refusal(asked)


def test_source_follows_the_whole_training_whichever_parameters_count():
    everything, last = network(MOMENTUM), network(MOMENTUM, parameters="last_layer")
    torch.testing.assert_close(scores(last, "source"), scores(everything, "source"))
