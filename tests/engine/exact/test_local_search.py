"""L-BFGS iterations from where a model stands: the objective and its terms, two kinds of problems alike, SciPy."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch.nn.functional import cross_entropy

from engine.basics.errors import Cancelled, InvalidInput
from engine.basics.options import Options
from engine.exact import passes
from engine.exact.intervened import intervened
from engine.exact.local_search import local_search
from engine.gradients import chunks
from engine.question.behaviors import BEHAVIORS
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.question.interventions import Relabel, Remove, Upweight
from engine.question.processes import LocalSearch
from tests.engine.exact import network_cases as cases
from tests.engine.exact.spelt_out import objective, spelt_out
from tests.engine.problems_for_tests import assert_close

ALL = [Remove(), Remove(normalization="n"), Relabel(label=1), Relabel(label=2),
       *(Upweight(alpha=alpha) for alpha in (1e-5, 1e-3, 1e-1, 1.0))]
LOSS = BEHAVIORS["query_loss"]
titled = {"ids": lambda value: getattr(value, "title", None)}


@pytest.mark.grid
@pytest.mark.parametrize("process", [LocalSearch(iterations=4), LocalSearch(iterations=4, baseline="reoptimized"),
                                     LocalSearch(iterations=4, damping=0.05)], **titled)
@pytest.mark.parametrize("intervention", ALL, **titled)
def test_softmax_regression_and_the_same_as_a_network_are_searched_alike(intervention, process):
    soft, module = cases.pair(n=40, d=4)
    for behavior in CLASS_BEHAVIORS:
        if behavior.differentiable:
            assert_close(cases.scores(local_search, soft, [intervention], process, behavior),
                         cases.scores(local_search, module, [intervention], process, behavior), 1e-6, 1e-12)


@pytest.mark.grid
@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("intervention", [Remove(), Remove(normalization="n"), Relabel(label=2), Upweight(alpha=0.1)],
                         **titled)
def test_a_long_search_ends_where_scipy_does(intervention, damping):
    """With a strong penalty the optimum near θ_D is unique, and both routes find it."""
    problem, k = cases.problem(cases.smooth, (4,), l2=0.2, n=12), 3
    found = local_search(problem, [intervention], LocalSearch(iterations=300, damping=damping), torch.tensor([k]),
                         Options())[0]
    reference = minimize(objective(problem, k, spelt_out(problem, intervention, k), damping), problem.theta.numpy(),
                         jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 2000})
    after = LOSS.value(passes.query_logits(problem, torch.tensor(reference.x)), problem.query_labels)
    before = LOSS.value(problem.query_logits, problem.query_labels)
    assert_close(found.scores(LOSS, problem.query_labels)[:, 0], after - before, 1e-5, 1e-8)
    assert found.converged.all() and found.residual.item() < 1e-8


@pytest.mark.grid
@pytest.mark.parametrize("selection", ["all", "last_layer"])
@pytest.mark.parametrize("intervention", ALL[:5], **titled)
def test_value_gradient_force_and_curvature_are_those_of_the_objective(intervention, selection):
    problem, k, damping = cases.problem(parameters=selection), 4, 0.05
    family = intervened(problem, damping, Options())
    one = family.objective([k], intervention.change(problem.n))
    spelt = objective(problem, k, spelt_out(problem, intervention, k), damping)
    theta = problem.theta + 0.01 * torch.arange(len(problem.theta)).double().sin()
    value, gradient = one.evaluate(theta)
    expected, slope = spelt(theta.numpy())
    assert value == pytest.approx(expected, rel=1e-11)
    assert_close(gradient, slope, 1e-9)
    plain = objective(problem, k, spelt_out(problem, Upweight(alpha=1e-300), k), damping)(theta.numpy())[1]
    assert one.force(theta) == pytest.approx(np.linalg.norm(slope - plain), rel=1e-7)
    along = torch.arange(len(theta)).double().cos()
    ends = [spelt((theta + sign * 1e-6 * along).numpy())[1] for sign in (1, -1)]
    assert_close(family.curvature(one, theta)(along[:, None])[:, 0], (ends[0] - ends[1]) / 2e-6, 1e-6)


def test_every_behavior_reads_the_same_model_and_columns_follow_the_candidates():
    problem, process = cases.problem(cases.smooth, (4,)), LocalSearch(iterations=4)
    everything = local_search(problem, [Remove(), Upweight(alpha=0.1)], process, problem.candidates, Options())
    some = local_search(problem, [Upweight(alpha=0.1)], process, torch.tensor([7, 2]), Options())[0]
    for behavior in CLASS_BEHAVIORS:
        torch.testing.assert_close(some.scores(behavior, problem.query_labels),
                                   everything[1].scores(behavior, problem.query_labels)[:, [7, 2]], rtol=0, atol=0)
    torch.testing.assert_close(some.residual, everything[1].residual[[7, 2]], rtol=0, atol=0)
    assert some.work["iterations"] == 4 < some.work["evaluations"] + 1


def test_the_drift_is_what_the_baseline_takes_away():
    """Away from an optimum, `factual` has the drift in it and `reoptimized` has not."""
    problem = cases.problem(cases.smooth, (4,))
    raw_process, cleaned_process = (LocalSearch(iterations=15, baseline=name) for name in ("factual", "reoptimized"))
    own = Relabel(label=int(problem.y[0]))  # an intervention that changes nothing
    drift = cases.scores(local_search, problem, [own], raw_process, LOSS, [0])
    assert np.abs(drift).max() > 1e-2
    assert np.abs(cases.scores(local_search, problem, [own], cleaned_process, LOSS, [0])).max() < 1e-12
    raw, cleaned = (cases.scores(local_search, problem, [Upweight(alpha=0.01)], process, LOSS, [1, 2])
                    for process in (raw_process, cleaned_process))
    np.testing.assert_allclose(raw - cleaned, np.repeat(drift, 2, 1), rtol=1e-9, atol=1e-12)


def test_a_small_force_is_followed_further():
    """At an optimum of L_D, α = 1e-6 moves the gradient by less than the tolerance; the score is not nothing."""
    _, module = cases.pair(n=40, d=4)
    process = LocalSearch(iterations=200)
    small, large = (cases.scores(local_search, module, [Upweight(alpha=alpha)], process, LOSS) / alpha
                    for alpha in (1e-6, 1e-4))
    assert_close(small, large, 1e-2)


def test_iterates_that_are_not_finite_are_flagged():
    def loss(logits, labels):
        return cross_entropy(logits, labels, reduction="none") / (labels != 2)

    problem = cases.problem(cases.smooth, (4,), loss=loss)
    problem.y = torch.arange(problem.n) % 2
    found = local_search(problem, [Relabel(label=2)], LocalSearch(), torch.tensor([0, 1]), Options())[0]
    assert not found.converged.any()
    fine = local_search(problem, [Remove()], LocalSearch(), torch.tensor([0, 1]), Options())[0]
    assert fine.converged.all() and fine.residual.isfinite().all()


def test_single_precision_is_searched_in_double():
    single = cases.problem(cases.smooth, (4,), l2=0.2, dtype="float32")
    process = LocalSearch(iterations=20, baseline="reoptimized")
    expected, found = (cases.scores(local_search, problem, [Upweight(alpha=1e-6)], process, LOSS, [1, 2])
                       for problem in (single.double(), single))
    assert_close(found, expected, 1e-9)


def test_batches_of_training_data_change_nothing(monkeypatch):
    process = LocalSearch(iterations=5)
    expected = cases.scores(local_search, cases.problem(), [Remove()], process, LOSS, [1, 2])
    monkeypatch.setitem(chunks.CEILINGS, "cpu", 3)
    found = cases.scores(local_search, cases.problem(), [Remove()], process, LOSS, [1, 2])
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-11)


def test_refusals_progress_and_cancelling():
    problem, told = cases.problem(cases.smooth, (4,)), []
    with pytest.raises(InvalidInput, match="no class 3 to relabel to; use 0 to 2"):
        local_search(problem, [Relabel(label=3)], LocalSearch(), problem.candidates, Options())
    local_search(problem, ALL[:2], LocalSearch(iterations=1), torch.tensor([1, 2]), Options(progress=told.append))
    assert told == pytest.approx([0.25, 0.5, 0.75, 1.0])

    def cancel():
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        local_search(problem, [Remove()], LocalSearch(), problem.candidates, Options(check=cancel))


def test_a_network_is_searched_in_the_precision_asked_for():
    """float32 ends near where float64 does, and float64 is what is asked for by default."""
    problem = cases.problem(cases.smooth, (4,), dtype="float32")
    process, rows = LocalSearch(iterations=5), torch.tensor([3])
    values = [local_search(problem, [Upweight(alpha=1.0)], process, rows, Options(precision=precision))[0].scores(
        LOSS, problem.query_labels) for precision in ("float64", "auto", "float32")]
    assert_close(values[1], values[0].numpy(), 0.0, 0.0)
    assert_close(values[2], values[0].numpy(), 1e-2, 1e-3)
    assert not torch.equal(values[2].double(), values[0].double())
