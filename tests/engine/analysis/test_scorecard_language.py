"""Benchmarks on a language model: what fits it, what it was taught wrongly, other seeds and random weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from engine.analysis.scorecard import BENCHMARKS, CEILING, METHODS, Case, ScorecardRequest, Sizes, fitting, running
from engine.analysis.subset_bank import Draw, bank
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.experiments.exact_language import SOURCE
from engine.problems import CausalProblem, ProblemSource, SoftmaxProblem
from engine.problems.variants import trained_on, with_random_weights
from engine.store.results import Store
from tests.engine.single_thread import one_thread  # noqa: F401

RECIPE = {"rank": 2, "epochs": 1, "learning_rate": 5e-3, "batch": 4, "context": 256, "checkpoints": 1}
DRAWN = ProblemSource(**{**SOURCE, "recipe": RECIPE}, n_train=16, n_test=6, n_queries=2, n_candidates=12)
SOME = ("gradsim", "tracin", "repsim", "bm25", "random")
SIZES = Sizes(candidates=12, models=3, fractions=(0.5,), queries=1, removed=(0.1,), seeds=2, top=3)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(tmp_path_factory.mktemp("home")))
        problem = DRAWN.build().problem
    return Case(problem, SOME, "response_loss", SIZES, Store(tmp_path_factory.mktemp("store")))


def test_records_are_planted_and_labels_are_not():
    assert "planted" in running(CausalProblem) and "planted" not in running(SoftmaxProblem)
    assert {"lds", "removal", "leave_one_out", "stability", "randomisation"} < set(running(CausalProblem))
    assert "mislabelled" in running(SoftmaxProblem) and "mislabelled" not in running(CausalProblem)
    assert {"loo", "step", "less", "bm25"} < set(fitting(CausalProblem)) and "nearest" not in fitting(CausalProblem)
    asked = ScorecardRequest(sizes=SIZES, behavior="response_loss")
    assert asked.of(DRAWN).payload["benchmarks"] == running(CausalProblem)
    with pytest.raises(InvalidInput, match="`mislabelled` is not defined for a language model"):
        asked.model_copy(update={"benchmarks": ("mislabelled",)}).of(DRAWN)


def test_planted_records_are_those_that_the_dataset_changed(case):
    found, problem = BENCHMARKS["planted"].measure(case), case.problem
    flags = [record.flags for record in problem.texts.of(problem.x[problem.candidates])]
    own = np.diagonal(METHODS["gradsim"].scores(problem.at_itself(problem.candidates), "response_loss", Options()))
    assert found["gradsim"], "some record of the draw was changed"
    for change, value in found["gradsim"].items():
        taken = np.array([one in (("clean",), (change,)) for one in flags])
        wanted = np.array([change in one for one in flags])
        assert value == pytest.approx(roc_auc_score(wanted[taken], own[taken]))
    with pytest.raises(InvalidInput, match="use more candidates"):
        clean = problem.candidates[[place for place, one in enumerate(flags) if one == ("clean",)]]
        BENCHMARKS["planted"].measure(replace(case, problem=problem.with_candidates(clean)))


def test_trainings_on_subsets_and_other_seeds(case):
    problem, draw = case.problem, Draw(count=3, protocol="subset")
    lds = BENCHMARKS["lds"].measure(replace(case, sizes=SIZES.model_copy(update={"protocol": "subset"})))
    measure = draw.description(16, 12)
    assert lds["bm25"][measure].values.shape == (2, 2) and lds[CEILING][measure].subsets == 3
    own = problem.examples._replace(x=problem.x[rows := draw.members(problem)[0]], y=problem.y[rows],
                                    candidates=torch.tensor([0]))
    np.testing.assert_allclose(bank(problem, draw, case.store).logits[0],
                               trained_on(problem, own, Options()).query_logits, atol=1e-4)
    found = BENCHMARKS["stability"].measure(case)
    assert (found["bm25"]["top 3"] == 1).all() and set(found) == set(SOME)
    other = trained_on(case.problem, case.problem.examples, Options(), 1)
    assert other.texts is case.problem.texts and len(other.checkpoints) == 1
    assert (other.theta != case.problem.theta).any()


def test_random_weights_are_fresh_adapters(case):
    drawn = with_random_weights(case.problem, 1)
    assert drawn.texts is case.problem.texts and (drawn.theta != case.problem.theta).any()
    found = BENCHMARKS["randomisation"].measure(replace(case, methods=("gradsim", "less", "bm25")))
    np.testing.assert_allclose(found["bm25"][""], 1.0)


def test_a_trajectory_visits_the_checkpoints_that_there_are(case):
    assert METHODS["tracin"].scoring_of(case.problem, "response_loss").process.checkpoints == 1
    assert METHODS["tracin"].scores(case.problem, "response_loss", Options()).shape == (2, 12)
