"""The derivative of a training run against central differences of real trainings, and its two routes against each
other."""

import pytest
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact import differentiated_descent, differentiated_run
from engine.exact.differentiated_descent import DifferentiatedDescent
from engine.exact.differentiated_run import DifferentiatedRun
from engine.exact.local_response import local_response
from engine.exact.points import Points
from engine.exact.replay import ADJOINT, STEEPNESS, STEPS, TANGENT, replay, run_of, training_of
from engine.exact.step_curvature import FISHER, HESSIAN, NOTHING
from engine.exact.step_graph import StepGraph
from engine.models.recipe import Recipe
from engine.models.training import Training, train
from engine.problems import SoftmaxProblem
from engine.question.behaviors import BEHAVIORS
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.question.interventions import Infinitesimal, InfinitesimalDuring
from engine.question.processes import LocalResponse, Replay
from tests.engine.exact import network_cases as cases
from tests.engine.problems_for_tests import assert_close, gradient, hessian, problem, values
from tests.truth import language_cases

DOUBLE = torch.float64
RECIPES = {
    "descent": Recipe(epochs=3, batch_size=4, learning_rate=0.2),
    "momentum": Recipe(epochs=3, batch_size=4, learning_rate=0.1, momentum=0.9, weight_decay=0.01, schedule="cosine"),
    "Nesterov": Recipe(epochs=2, batch_size=4, learning_rate=0.1, momentum=0.9, optimizer="nesterov",
                       schedule="linear"),
}
ADAPTIVE = Recipe(epochs=2, batch_size=4, learning_rate=0.01, weight_decay=0.01, optimizer="adamw", schedule="step")
AUGMENTED = {"sgd": Recipe(epochs=2, batch_size=4, learning_rate=0.2, flip=True, crop=1),
             "adamw": ADAPTIVE.model_copy(update={"flip": True, "crop": 1})}
STEP, ADAMS = 1e-3, 1e-5  # Adam's steps are close to linear over a hundredth of the weights of descent's only
DIFFERENTIABLE = [behavior for behavior in CLASS_BEHAVIORS if behavior.differentiable]


def dropping():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 3))


def normed():
    return nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 3))


def convolving():
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 5),
                         nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 3))


def trained_problem(architecture=cases.smooth, shape=(4,), recipe="momentum", **options):
    found = cases.problem(architecture, shape, recipe=RECIPES[recipe], build=architecture, **options)
    found.seed = 3
    return found


def ends(problem, k, weight, seed):
    """The query logits of a model that is really trained with w_k."""
    recipe, build = problem.training()
    weights = torch.ones(problem.n, dtype=DOUBLE)
    weights[k] = weight
    module = train(build, problem.x, problem.y, recipe.model_copy(update={"checkpoints": 1}), seed, weights=weights,
                   normalization="n", loss=problem.loss, exact=True, dtype=DOUBLE).module
    with torch.no_grad():
        return module(problem.queries)


def quotient(read, problem, k, seeds=(3,), step=STEP):
    """dB/dα by central differences of step h and h/2, of which h² is removed: (m,)."""
    def difference(h):
        return sum(read(ends(problem, k, 1 + h, seed)) - read(ends(problem, k, 1 - h, seed))
                   for seed in seeds) / (2 * h * len(seeds))

    return problem.n * (4 * difference(step / 2) - difference(step)) / 3


def both_routes(problem, candidates, behavior, process=None):
    """By columns of candidates, and by columns of queries: (m, b) each."""
    few = [replay(problem, [Infinitesimal()], process or Replay(), torch.tensor([k]), Options())[0] for k in candidates]
    rows = torch.tensor(candidates).repeat(len(problem.queries))
    many = replay(problem, [Infinitesimal()], process or Replay(), rows, Options())[0]
    return (torch.cat([one.scores(behavior, problem.query_labels) for one in few], 1),
            many.scores(behavior, problem.query_labels)[:, :len(candidates)])


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(("build", "shape"), [
    pytest.param(cases.smooth, (4,), id="smooth"),
    *(pytest.param(*case, id=name, marks=pytest.mark.slow) for name, *case in (
        ("convolutional", convolving, (2, 6, 6)), ("dropout", dropping, (4,)), ("layer norm", normed, (4,))))])
def test_it_is_what_a_little_weight_does_to_a_real_training(build, shape, recipe):
    trained = trained_problem(build, shape, recipe, queries=2).double()
    for behavior in DIFFERENTIABLE:
        read = lambda logits: behavior.value(logits, trained.query_labels)  # noqa: B023, E731
        expected = torch.stack([quotient(read, trained, k) for k in (5, 1)], 1)
        tangent, adjoint = both_routes(trained, [5, 1], behavior)
        assert_close(tangent, expected, 1e-6, 1e-9)
        assert_close(adjoint, tangent, 1e-10, 1e-12)


@pytest.mark.parametrize("optimizer", AUGMENTED)
def test_augmented_trainings_are_differentiated_on_the_pictures_that_they_read(optimizer, monkeypatch):
    monkeypatch.setitem(RECIPES, "augmented", AUGMENTED[optimizer])
    trained = trained_problem(convolving, (2, 6, 6), "augmented", queries=2).double()
    behavior, step = BEHAVIORS["soft_margin"], STEP if optimizer == "sgd" else ADAMS
    read = lambda logits: behavior.value(logits, trained.query_labels)  # noqa: E731
    expected = torch.stack([quotient(read, trained, k, step=step) for k in (5, 1)], 1)
    tangent, adjoint = both_routes(trained, [5, 1], behavior)
    assert_close(tangent, expected, 1e-6, 1e-8)
    assert_close(adjoint, tangent, 1e-9, 1e-11)
    plain = trained_problem(convolving, (2, 6, 6), "descent", queries=2).double()
    assert not torch.allclose(both_routes(plain, [5, 1], behavior)[0], tangent)


@pytest.mark.parametrize("which", ["adapters", "all parameters"])
def test_a_language_model_trained_by_adamw(which):
    trained = language_cases.problem(which)
    recipe, _ = trained.training()
    assert recipe.clip < 10 and recipe.weight_decay >= 0
    behavior = BEHAVIORS["answer_margin"]
    tangent, adjoint = both_routes(trained, [4, 0], behavior)
    read = lambda logits: behavior.value(logits, trained.query_labels)  # noqa: E731
    expected = torch.stack([quotient(read, trained, k, (trained.seed,), ADAMS) for k in (4, 0)], 1)
    assert_close(tangent, expected, 1e-6, 1e-9)
    assert_close(adjoint, tangent, 1e-9, 1e-12)


def test_the_expectation_is_over_seeds():
    trained = trained_problem(queries=2).double()
    behavior = BEHAVIORS["query_loss"]
    read = lambda logits: behavior.value(logits, trained.query_labels)  # noqa: E731
    expected = quotient(read, trained, 5, seeds=(3, 4))[:, None]
    for found in both_routes(trained, [5], behavior, Replay(seeds=2)):
        assert_close(found, expected, 1e-6, 1e-9)


def test_a_weight_in_a_part_of_the_training_alone():
    trained, k = trained_problem(queries=2).double(), 5
    recipe, build = trained.training()
    training, step = training_of(trained, trained.seed), 1e-3
    per_epoch, behavior = training.per_epoch, BEHAVIORS["query_loss"]

    def end(weight, steps):
        module = training.start()
        optimizer, count = recipe.build_optimizer(module.parameters()), 0
        for epoch, batches in enumerate(training.batches()):
            for rows in batches:
                count += 1
                optimizer.param_groups[0]["lr"] = recipe.rate(epoch)
                weights = torch.ones(len(rows), dtype=DOUBLE)
                weights[rows == k] = weight if count in steps else 1.0
                optimizer.zero_grad()
                (weights * trained.loss(module(trained.x[rows]), trained.y[rows])).mean().backward()
                optimizer.step()
        with torch.no_grad():
            return behavior.value(module(trained.queries), trained.query_labels)

    seen = next(count for count, rows in enumerate((rows for batches in training.batches() for rows in batches), 1)
                if k in rows)
    parts = {InfinitesimalDuring(at=2): range(per_epoch + 1, 2 * per_epoch + 1),
             InfinitesimalDuring(unit="step", at=seen): [seen]}
    for intervention, steps in parts.items():
        def difference(h, steps=steps):
            return (end(1 + h, steps) - end(1 - h, steps)) / (2 * h)

        expected = trained.n * (4 * difference(step / 2) - difference(step)) / 3
        for rows in (torch.tensor([k]), torch.tensor([k, 1, 2])):
            found = replay(trained, [intervention], Replay(), rows, Options())[0]
            assert_close(found.scores(behavior, trained.query_labels)[:, 0], expected, 1e-6, 1e-9)


@pytest.mark.parametrize("rows", [[5], [5, 1, 2]], ids=["tangent", "adjoint"])
@pytest.mark.parametrize("make", [lambda: trained_problem(queries=2).double(), lambda: problem(n=30, queries=2)],
                         ids=["network", "softmax"])
def test_epochs_and_steps_add_up_to_the_training(make, rows):
    asked, process, behavior = make(), Replay(eta=0.5, steps=3), BEHAVIORS["query_loss"]
    steps = 3 if isinstance(asked, SoftmaxProblem) else training_of(asked, 3).updates
    parts = {"epoch": [InfinitesimalDuring(at=at) for at in (1, 2, 3)],
             "step": [InfinitesimalDuring(unit="step", at=at) for at in range(1, steps + 1)]}
    whole = replay(asked, [Infinitesimal()], process, torch.tensor(rows), Options())[0]
    for interventions in parts.values():
        found = replay(asked, interventions, process, torch.tensor(rows), Options())
        assert_close(sum(one.scores(behavior, asked.query_labels) for one in found),
                     whole.scores(behavior, asked.query_labels), 1e-11)
    with pytest.raises(InvalidInput, match="names a later one"):
        replay(asked, [InfinitesimalDuring(at=99)], process, torch.tensor(rows), Options())


def test_another_run_starts_from_another_seed():
    trained, behavior = trained_problem(queries=2).double(), BEHAVIORS["query_loss"]
    read = lambda logits: behavior.value(logits, trained.query_labels)  # noqa: E731
    expected = quotient(read, trained, 5, seeds=(5,))[:, None]
    for found in both_routes(trained, [5], behavior, Replay(first=2)):
        assert_close(found, expected, 1e-6, 1e-9)


def test_states_between_kept_ones_are_computed_again():
    found = Points(0, lambda state, t: state + t + 1, 10, each=1, room=3, check=Options().check)
    assert found.every == 4 and len(found.states) == 3 and found.end == 55
    assert list(found.backwards(Options().check)) == [(t, t * (t + 1) // 2) for t in reversed(range(10))]
    assert Points(0, lambda state, t: state + 1, 10, 1, 10, Options().check).every == 1


def test_less_memory_gives_the_same():
    trained = trained_problem().double()
    recipe, build = trained.training()
    training = Training(build, trained.x, trained.y, recipe, 3, None, "n", trained.loss, DOUBLE)
    slopes = torch.randn(2, trained.parameters, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    roomy, tight = DifferentiatedRun(training, Options()), DifferentiatedRun(training, Options(budget=1 << 12))
    assert roomy.points.every == 1 < tight.points.every
    assert torch.equal(roomy.adjoint(slopes, Options()), tight.adjoint(slopes, Options()))
    shares, few = [], Options(budget=1 << 12, progress=lambda done: shares.append(done))
    assert_close(roomy.adjoint(slopes, few), roomy.adjoint(slopes, Options()), 1e-12)
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1) and len(shares) == 2 * len(roomy.steps)
    rows = torch.tensor([5, 1, 5])
    assert_close(roomy.tangent(rows, few), roomy.tangent(rows, Options()), 1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_graphs_of_the_steps_are_stored_where_they_fit(weighted):
    trained = trained_problem().double()
    recipe, build = trained.training()
    weights = torch.linspace(0.5, 1.5, trained.n, dtype=DOUBLE) if weighted else None
    training = Training(build, trained.x, trained.y, recipe, 3, weights, "n", trained.loss, DOUBLE)
    slopes = torch.ones(1, trained.parameters, dtype=DOUBLE)
    plain = DifferentiatedRun(training, Options())
    some = 2 * 3 * StepGraph(plain.steps, plain.steps.start, plain.steps.all[0]).held()
    for budget, stored in ((4 << 30, len(plain.steps)), (some, 3), (1 << 12, 0)):
        run = DifferentiatedRun(training, Options(budget=budget), backwards=True)
        assert len(run.graphs) == stored and len(plain.graphs) == 0
        assert torch.equal(run.end, plain.end)
        assert torch.equal(run.adjoint(slopes, Options()), plain.adjoint(slopes, Options()))


def test_a_run_that_is_kept_asks_whoever_differentiates_it():
    def gone():
        raise AssertionError("the first caller's check")

    trained = trained_problem().double()
    recipe, build = trained.training()
    training = Training(build, trained.x, trained.y, recipe, 3, None, "n", trained.loss, DOUBLE)
    calls = []
    first = Options(budget=1 << 12, check=lambda: gone() if calls else None)
    run, slopes = DifferentiatedRun(training, first), torch.ones(1, trained.parameters, dtype=DOUBLE)
    assert run.points.every > 1 and len(run.steps) == training.updates
    calls.append("kept")
    own = Options(check=lambda: calls.append("own"))
    run.adjoint(slopes, own)
    again = sum(min(run.points.every, len(run.steps) - start) - 1
                for start in range(0, len(run.steps), run.points.every))
    assert calls.count("own") == len(run.steps) + again
    run.tangent(torch.tensor([1]), own)


@pytest.mark.parametrize(("candidates", "way"), [([5], {TANGENT: 1}), ([5, 1, 2], {ADJOINT: 2})])
@pytest.mark.parametrize("make", [lambda: trained_problem(queries=2).double(), lambda: problem(n=30, queries=2)],
                         ids=["network", "softmax"])
def test_the_route_that_was_taken_is_said(make, candidates, way):
    asked, process = make(), Replay(eta=0.5, steps=9, seeds=1)
    found = replay(asked, [Infinitesimal()], process, torch.tensor(candidates), Options())[0].work
    steps = 9 if isinstance(asked, SoftmaxProblem) else len(run_of(asked, 3, Options()).steps)
    steep = {} if not isinstance(asked, SoftmaxProblem) else {STEEPNESS: pytest.approx(0.5 * torch.linalg.eigvalsh(
        hessian(torch.zeros_like(asked.weights), asked))[-1].item(), rel=1e-4)}
    assert found == {**way, STEPS: steps, **steep}


def test_the_run_ends_where_the_training_does():
    trained = trained_problem().double()
    recipe, build = trained.training()
    run = DifferentiatedRun(Training(build, trained.x, trained.y, recipe, 3, None, "n", trained.loss, DOUBLE),
                            Options())
    module = train(build, trained.x, trained.y, recipe, 3, dtype=DOUBLE).module
    assert_close(run.end, torch.cat([part.flatten() for part in module.parameters()]), 1e-13)


def descended(soft, k, alpha, eta, steps):
    weights = torch.zeros(soft.dimension, soft.classes, dtype=DOUBLE)
    for _ in range(steps):
        weights = weights - eta * gradient(weights, soft, extra=[(k, int(soft.y[k]), alpha)])
    return weights


@pytest.mark.parametrize("intercept", [False, True])
def test_softmax_regression_by_central_differences_of_its_descent(intercept):
    soft, process = problem(n=30, queries=3, intercept=intercept), Replay(eta=0.5, steps=25)
    for behavior in DIFFERENTIABLE:
        found = both_routes(soft, [7, 2], behavior, process)
        expected = torch.stack([
            (values(behavior, soft, descended(soft, k, 1e-5, 0.5, 25))
             - values(behavior, soft, descended(soft, k, -1e-5, 0.5, 25))) / 2e-5 for k in (7, 2)], 1)
        for route in found:
            assert_close(route, expected, 1e-7, 1e-9)


def test_softmax_regression_trained_for_long_meets_the_local_response():
    soft, rows = problem(n=30, queries=3, l2=0.1), torch.tensor([7, 2])
    behavior = BEHAVIORS["soft_margin"]
    expected = local_response(soft, [Infinitesimal()], LocalResponse(), rows, Options())[0]
    apart = []
    for steps in (20, 100, 2_000):
        found = replay(soft, [Infinitesimal()], Replay(eta=0.5, steps=steps), rows, Options())[0]
        apart.append((found.scores(behavior, soft.query_labels)
                      - expected.scores(behavior, soft.query_labels)).abs().max().item())
    assert apart[0] > apart[1] > 100 * apart[2] and apart[2] < 1e-9


def test_a_descent_in_little_memory():
    soft = problem(n=30, queries=3)
    signal = torch.randn(3, soft.classes, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    roomy, tight = (DifferentiatedDescent(soft, 0.5, 30, Options(budget=budget)) for budget in (4 << 30, 1 << 12))
    assert roomy.points.every == 1 < tight.points.every
    assert torch.equal(roomy.adjoint(signal, Options()), tight.adjoint(signal, Options()))


@pytest.mark.parametrize("curvature", [HESSIAN, FISHER, NOTHING], ids=lambda curvature: curvature.name)
def test_a_descent_with_few_columns_at_a_time(curvature, monkeypatch):
    soft, rows = problem(n=30, queries=3), torch.arange(7)
    weights = torch.linspace(0.5, 1.5, 30, dtype=DOUBLE)
    signal = torch.randn(3, soft.classes, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    during = torch.arange(20)[:, None] % torch.tensor([1, 3]) == 0
    run = DifferentiatedDescent(soft, 0.5, 20, Options(), weights)

    def both():
        return (run.tangent(rows, Options(), during[:, 1], curvature),
                run.adjoint(signal, Options(), during, curvature))

    whole = both()
    monkeypatch.setattr(differentiated_descent, "TOGETHER", {"cpu": 2 * soft.n * soft.classes})
    for found, expected in zip(both(), whole, strict=True):
        assert_close(found, expected, 1e-12)
    by_signal = torch.einsum("mbc,mc->mb", whole[0], signal)
    assert_close(whole[1][:, 1, rows], by_signal, 1e-10)


def test_statistics_of_batches_are_refused():
    trained = trained_problem(cases.convolutional, (2, 6, 6))
    with pytest.raises(InvalidInput, match="also changes `1.running_mean`, which is not a parameter"):
        replay(trained, [Infinitesimal()], Replay(), torch.tensor([1]), Options())


def test_an_unknown_training_is_refused():
    with pytest.raises(InvalidInput, match="unknown how this model was trained"):
        replay(cases.problem(cases.smooth, (4,)), [Infinitesimal()], Replay(), torch.tensor([1]), Options())


def test_a_derivative_beyond_numbers_is_refused(monkeypatch):
    monkeypatch.setattr(differentiated_run.DifferentiatedRun, "tangent",
                        lambda self, candidates, *_: torch.full((1, self.steps.start.numel()), torch.inf))
    with pytest.raises(InvalidInput, match="overflows"):
        replay(trained_problem().double(), [Infinitesimal()], Replay(), torch.tensor([1]), Options())


def test_training_that_diverges_is_refused():
    soft = problem(n=30, queries=3, l2=0.1)
    with pytest.raises(InvalidInput, match="Descent from zero diverged"):
        replay(soft, [Infinitesimal()], Replay(eta=100, steps=5_000), torch.tensor([1]), Options())
