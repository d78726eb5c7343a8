"""From gradients that are held, an estimator scores as its route does on the problem that they are gradients of."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.applications.language.methods import METHODS
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.estimators import ESTIMATORS, trak
from engine.gradients.cached import CachedCheckpoint, CachedFeatures
from engine.gradients.per_example import behavior_gradients, loss_gradients
from engine.question.behaviors import BEHAVIORS, reading
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.truth import language_cases as cases

OPTIONS = Options()


@pytest.fixture(scope="module")
def problem():
    """A language model whose checkpoints have moments, of which the last is the model itself."""
    found = cases.problem("adapters", "float64", candidates=None)
    torch.manual_seed(3)
    first, last = (replace(point, first=0.1 * torch.randn_like(point.theta), second=torch.rand_like(point.theta),
                           steps=7) for point in found.checkpoints)
    found.checkpoints = (first, replace(last, theta=found.theta))
    return found


def queried(problem, name, theta):
    signal = BEHAVIORS[name].signal(problem.outputs(problem.queries, theta), problem.query_labels)
    return behavior_gradients(problem, problem.queries, signal, theta).numpy()


@pytest.fixture(scope="module")
def held(problem):
    """All its gradients, whole, in double precision."""
    rows = torch.arange(problem.n)
    points = tuple(CachedCheckpoint(point.learning_rate, loss_gradients(problem, rows, point.theta).numpy(),
                                    problem.gradients(rows, OPTIONS, point).updates.numpy(),
                                    {name: queried(problem, name, point.theta) for name in reading("tokens")})
                   for point in problem.checkpoints)
    losses = problem.loss(problem.outputs(problem.x), problem.y).numpy()
    states, asked = ({1.0: problem.representations(x).numpy()} for x in (problem.x, problem.queries))
    return CachedFeatures(points, np.linalg.norm(points[-1].gradients, axis=1), losses, states, asked, ridge=trak.RIDGE)


def on_the_problem(problem, scoring):
    """Oriented scores by the estimator's route; TRAK without a projection."""
    if scoring.estimator != "trak":
        return compute(problem, scoring)[0].oriented
    [term] = trak.left_out(problem, scoring.process, problem.candidates, OPTIONS, projector="identity")
    return scoring.orientation * term.scores(scoring.readout, problem.query_labels).numpy()


@pytest.mark.grid
@pytest.mark.parametrize("behavior", reading("tokens"))
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.reads])
def test_held_gradients_score_as_the_route_does(problem, held, name, behavior):
    method = METHODS[name]
    scoring = method.scoring(behavior)
    if scoring.process.kind == "trajectory":
        process = scoring.process.model_copy(update={"checkpoints": 2})
        scoring = Scoring.of(behavior, scoring.intervention, process, scoring.estimator)
    expected, found = on_the_problem(problem, scoring), method.score(held, behavior)
    scale = (expected * found).sum() / (found * found).sum()  # η, which is 1 where gradients are held
    assert scale > 0
    np.testing.assert_allclose(scale * found, expected, rtol=1e-4, atol=1e-5 * abs(expected).max())


def test_repsim_compares_representations_as_the_route_does(problem, held):
    expected = compute(problem, METHODS["repsim"].scoring())[0].oriented
    found = METHODS["repsim"].score(held, "none")
    np.testing.assert_allclose(0.1 * found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["exact", "cg", "representer", "source", "in_run_shapley", "ntk", "bm25"])
def test_what_cannot_be_read_off_held_gradients_is_refused(held, name):
    with pytest.raises(InvalidInput, match=f"`{name}` does not target `.*` for gradients that are held"):
        ESTIMATORS[name].route(held, ESTIMATORS[name].processes[0])


@pytest.mark.parametrize("name", METHODS)
def test_a_score_is_a_sum_over_tokens_or_says_why_not(held, name):
    method = METHODS[name]
    if method.undivided:
        with pytest.raises(InvalidInput, match="token"):
            method.directions(held, "answer_logit")
        return
    mean, total = method.score(held, "answer_logit").mean(0), 0.0
    for place, u in method.directions(held, "answer_logit").items():
        rows = held.points[place].conditioned if method.preconditioned else held.points[place].gradients
        total = total + (rows / np.linalg.norm(rows, axis=1, keepdims=True) if method.preconditioned else rows) @ u
    np.testing.assert_allclose(total, mean, rtol=1e-4, atol=1e-5 * abs(mean).max())
