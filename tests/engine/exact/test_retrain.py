"""Retrained networks: a convex one against the exact optimum, others against trainings spelt out one by one."""

import numpy as np
import pytest
import torch
from torch import nn

from engine.basics.errors import Cancelled, InvalidInput
from engine.basics.options import Options
from engine.exact import optima
from engine.exact import retrain as retraining
from engine.exact.retrain import retrain
from engine.gradients.response import Average, LogitTerm
from engine.models import precision
from engine.models.altered import Altered
from engine.models.gain import Gain
from engine.models.recipe import Recipe
from engine.models.training import train
from engine.question.behaviors import BEHAVIORS
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.question.interventions import Relabel, Remove, Upweight
from engine.question.processes import Reoptimize, Retrain
from tests.engine.exact import network_cases as cases
from tests.engine.problems_for_tests import assert_close

RECIPE = Recipe(epochs=2, batch_size=4, learning_rate=0.1, momentum=0.9, weight_decay=0.01, checkpoints=1)
ALL = [Remove(), Remove(normalization="n"), Upweight(alpha=0.05), Relabel(label=2)]
titled = {"ids": lambda value: getattr(value, "title", None)}


def trained_problem(architecture=cases.smooth, shape=(4,), **options):
    problem = cases.problem(architecture, shape, **{"recipe": RECIPE, "build": architecture, **options})
    problem.seed = 3
    return problem


@pytest.mark.parametrize("intervention", [*ALL[:3], Upweight(alpha=-0.03), Relabel(label=1)], **titled)
def test_a_convex_model_is_retrained_to_its_exact_optimum(intervention):
    """Full-batch descent to the end: what is left of the objective's normalisation is the definition's."""
    soft, module = cases.pair(n=20, d=3, l2=0.2, candidates=(9, 4))
    module.recipe = Recipe(epochs=200, batch_size=20, learning_rate=0.5, momentum=0.5, weight_decay=0.2)
    module.build = lambda: nn.Linear(3, 3, bias=False)
    for behavior in (BEHAVIORS["query_loss"], BEHAVIORS["hard_margin"]):
        found = cases.scores(retrain, module, [intervention], Retrain(seeds=2), behavior)
        expected = cases.scores(optima.optima, soft, [intervention], Reoptimize(), behavior)
        assert_close(found, expected, 1e-6, 1e-12)


def arguments(problem, intervention, k):
    """What `train` is given for an intervention, by hand."""
    weights, y = torch.ones(problem.n, dtype=torch.float64), problem.y.clone()
    if intervention.kind == "upweight":
        weights[k] = 1 + problem.n * intervention.alpha
    elif intervention.kind == "relabel":
        y[k] = intervention.label
    else:
        weights[k] = 0.0
    return y, {"weights": weights, "normalization": getattr(intervention, "normalization", "n-1")}


def test_runs_of_other_seeds_make_up_the_mean():
    problem, behavior = trained_problem(), BEHAVIORS["soft_margin"]
    mean, *single = (cases.scores(retrain, problem, [Remove()], process, behavior, [5, 1])
                     for process in (Retrain(seeds=2, first=1), Retrain(first=1), Retrain(first=2)))
    assert_close(mean, (single[0] + single[1]) / 2, 1e-12, 1e-14)
    assert abs(single[0] - single[1]).max() > 1e-6


@pytest.mark.grid
@pytest.mark.parametrize("intervention", ALL, **titled)
@pytest.mark.parametrize(("build", "shape"), [(cases.smooth, (4,)), (cases.convolutional, (2, 6, 6))],
                         ids=["smooth", "convolutional"])
def test_the_expectation_is_over_models_trained_with_the_same_seed(build, shape, intervention):
    problem = trained_problem(build, shape)
    for behavior in CLASS_BEHAVIORS:
        expected = []
        for seed in (3, 4):
            value = lambda found: behavior.value(found.module(problem.queries), problem.query_labels)  # noqa: B023, E731
            before = value(train(problem.build, problem.x, problem.y, RECIPE, seed))
            columns = []
            for k in (5, 1):
                y, options = arguments(problem, intervention, k)
                columns.append(value(train(problem.build, problem.x, y, RECIPE, seed, **options)) - before)
            expected.append(torch.stack(columns, 1))
        found = cases.scores(retrain, problem, [intervention], Retrain(seeds=2), behavior, [5, 1])
        assert_close(found, torch.stack(expected).mean(0), 1e-10, 1e-12)


def test_nothing_is_trained_twice(monkeypatch):
    problem, seeds = trained_problem(), []
    real = retraining.train

    def spy(*args, **options):
        seeds.append(options["seed"])
        return real(*args, **options)

    monkeypatch.setattr(retraining, "train", spy)
    retrain(problem, [Remove()], Retrain(seeds=1), torch.tensor([5, 1]), Options())
    assert seeds == [3] * 4  # without an intervention, the same from neighbouring weights, and two examples
    first = retrain(problem, [Remove(), Upweight(alpha=0.1)], Retrain(seeds=1), torch.tensor([1]), Options())
    assert seeds == [3] * 5
    retrain(problem.with_candidates(torch.tensor([5])), [Remove()], Retrain(seeds=2), torch.tensor([5]), Options())
    assert seeds == [3] * 5 + [4] * 3
    retrain(problem, [Remove(normalization="n")], Retrain(seeds=1), torch.tensor([1]), Options())
    assert len(seeds) == 9
    again = retrain(problem, [Upweight(alpha=0.1)], Retrain(seeds=1), torch.tensor([1]), Options())
    assert len(seeds) == 9
    behavior = BEHAVIORS["query_loss"]
    assert torch.equal(first[1].scores(behavior, problem.query_labels), again[0].scores(behavior, problem.query_labels))


def test_the_mean_over_seeds_by_hand():
    behavior, labels = BEHAVIORS["query_logit"], torch.tensor([0])
    parts = tuple(LogitTerm(torch.tensor([[[value - 1.0, 0.0]]]), torch.tensor([[1.0, 0.0]])) for value in (3.0, 7.0))
    average = Average(parts)
    assert average.scores(behavior, labels).tolist() == [[4.0]] and average.count == 1


def test_a_training_that_diverges_is_flagged():
    """On ℓ = ‖f‖², the steps shrink the weights unless the long example 0 is upweighted, which makes them grow."""
    problem = trained_problem(lambda: nn.Linear(4, 3), recipe=Recipe(epochs=40, batch_size=20, learning_rate=0.05),
                              dtype="float32", loss=lambda logits, labels: logits.square().sum(-1))
    problem.x[0] *= 10.0 / problem.x[0].norm()
    found = retrain(problem, [Upweight(alpha=1.0)], Retrain(), torch.tensor([0, 1]), Options())[0]
    assert found.converged.tolist() == [False, True]
    scores = found.scores(BEHAVIORS["query_loss"], problem.query_labels)
    assert scores[:, 0].isnan().all() and scores[:, 1].isfinite().all()


def test_what_is_refused():
    for missing in ({"recipe": None}, {"build": None}):
        problem = trained_problem(**missing)
        with pytest.raises(InvalidInput, match="it cannot be retrained; give its `recipe`"):
            retrain(problem, [Remove()], Retrain(), problem.candidates, Options())
    problem = trained_problem()
    problem.build = lambda: pytest.fail("something was trained")
    with pytest.raises(InvalidInput, match="no class 3 to relabel to; use 0 to 2"):
        retrain(problem, [Relabel(label=3)], Retrain(), problem.candidates, Options())
    problem = trained_problem(lambda: nn.Linear(4, 3), dtype="float32")
    problem.x[:6] *= 1e30
    with pytest.raises(InvalidInput, match="without any intervention diverged; choose a smaller learning rate"):
        retrain(problem, [Remove()], Retrain(), torch.tensor([1]), Options())


def test_progress_rises_to_one_and_cancelling_stops():
    problem, told = trained_problem(), []
    retrain(problem, [Remove()], Retrain(seeds=2), torch.tensor([1]), Options(progress=told.append))
    np.testing.assert_allclose(told, sorted(told))
    assert told[-1] == 1.0 and told[0] == pytest.approx(1 / 12)

    def cancel():
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        retrain(trained_problem(), [Remove()], Retrain(), torch.tensor([1]), Options(check=cancel))


def test_mixed_precision_stays_out_of_what_is_subtracted(monkeypatch):
    """On a CPU that gains from bfloat16, and in single precision, in which autocast would be at work."""
    monkeypatch.setattr(precision, "gain", lambda: Gain(matrices=5.0, convolutions=5.0))
    mixed = RECIPE.model_copy(update={"precision": "mixed"})
    full, narrow = (trained_problem(recipe=recipe, dtype="float32") for recipe in (RECIPE, mixed))
    everyone = Altered(torch.ones(1, full.n))
    assert not torch.equal(train(full.build, full.x, full.y, RECIPE, 3).module(full.queries),
                           train(full.build, full.x, full.y, mixed, 3).module(full.queries))
    assert torch.equal(full.retrained_outputs(everyone), narrow.retrained_outputs(everyone))
    found = [cases.scores(retrain, problem, [Remove()], Retrain(seeds=1), BEHAVIORS["query_loss"], [5])
             for problem in (full, narrow)]
    np.testing.assert_array_equal(*found)
