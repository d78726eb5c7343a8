"""Settings of estimators: one text, refusals, and that each reaches the mathematics and the cost."""

import inspect

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.settings import FREE, GROWS, declared
from engine.curvature import SOLVERS
from engine.curvature.lissa import solve as lissa
from engine.estimators import ESTIMATORS, configured, second_moments, trackstar, trak_fisher, written
from engine.estimators.knn_shapley import of_inputs, of_representations
from engine.estimators.source import through_segments
from engine.estimators.trak import left_out
from engine.models.causal.recipe import FineTuning
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.scoring import codes
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

QUESTION = {"behavior": "query_loss", "intervention": {"kind": "infinitesimal"},
            "process": {"kind": "local_response", "damping": 0.01}}
WITH_SETTINGS = [name for name, one in ESTIMATORS.items() if one.settings is not None]


def scoring(estimator):
    return Scoring.parse({**QUESTION, "estimator": estimator})


@pytest.fixture(scope="module")
def problem():
    return ProblemSource(dataset="digits", n_train=60, n_queries=5, n_candidates=12, l2=1e-2).build().problem


@pytest.mark.parametrize("given", [
    {"name": "lissa", "iterations": 1000, "averaged": 10}, "lissa;averaged=10;iterations=1000",
    "lissa;iterations=1000;averaged=10;batch_size=64"])
def test_one_value_has_one_text_digest_and_link(given):
    own, same = scoring(given), scoring("lissa;iterations=1000;averaged=10")
    assert own == same and own.digest == same.digest and own.estimator == "lissa;iterations=1000;averaged=10"
    assert codes.decode(codes.encode(own)) == own
    assert own.route.short_title == "LiSSA, 1,000 iterations, averaged 10"


def test_defaults_are_not_written_and_keep_their_digest():
    assert scoring({"name": "lissa", "iterations": 50}) == scoring("lissa")
    assert scoring("lissa").model_dump(mode="json")["estimator"] == "lissa"
    assert configured("lissa") is ESTIMATORS["lissa"]


@pytest.mark.parametrize(("given", "words"), [
    ("lissa;turns=3", "known: `iterations`"), ("lissa;iterations=0", "`iterations`"),
    ("lissa;iterations=5", "over the last 20 of 5"), ("lissa;iterations=many", "`iterations`"),
    ("first_order;iterations=3", "has no settings"), ({"name": "nothing", "x": 1}, "no estimator")])
def test_what_there_is_not_is_refused_in_a_sentence(given, words):
    with pytest.raises(InvalidInput, match=words):
        scoring(given)


def test_settings_reach_the_solver(problem):
    solver = SOLVERS["lissa"]
    operator = solver.operator(problem, 0.01)
    rhs = torch.eye(problem.parameters, 3, dtype=operator.dtype)
    expected = lissa(operator, rhs, iterations=80, batch_size=16, own_damping=0.2, averaged=7).x
    settings = ESTIMATORS["lissa"].settings(iterations=80, batch_size=16, own_damping=0.2, averaged=7)
    assert torch.equal(solver.configured(settings).solution(operator, rhs), expected)


def test_two_settings_of_one_method_stand_side_by_side(problem):
    few, many, exact = compute(problem, [scoring("cg;iterations=1"), scoring("cg;tolerance=1e-10;iterations=10000"),
                                         scoring("exact")])
    assert np.abs(many.values - exact.values).max() < 1e-6 * np.abs(exact.values).max()
    assert np.abs(few.values - exact.values).max() > 1e-2 * np.abs(exact.values).max()


@pytest.mark.parametrize("of", [*(ESTIMATORS[name].settings for name in WITH_SETTINGS), Recipe, FineTuning],
                         ids=lambda of: of.__name__)
def test_every_setting_is_declared_with_help_range_source_and_cost(of):
    for setting in declared(of).values():
        assert setting.description.endswith(f" Default: {setting.source}. Cost: {setting.cost}.")
        assert setting.source and setting.cost and setting.description[0].isupper() or setting.description[0] in "μηλαδ"
        assert setting.kind in (bool, str) or None not in (setting.low, setting.high), setting.name
        assert setting.default is not None or of is Recipe, setting.name


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_what_is_said_to_cost_in_proportion_does(name):
    own = ESTIMATORS[name].settings
    for setting in declared(own).values():
        if setting.kind is not str:
            twice = own.read({setting.name: min(2 * setting.default, setting.high)}, name)
            assert (twice.effort == 2) == (setting.cost.startswith(GROWS)), setting.name
            assert (twice.costs == "") == (twice.effort == 1), setting.name


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_every_setting_is_an_argument_with_that_default(name):
    own = ESTIMATORS[name]
    solve = own.solver.solve if hasattr(own, "solver") else {
        "trak": left_out, "trak_fisher": trak_fisher.response, "source": through_segments,
        "knn_shapley": of_representations, "knn_shapley_inputs": of_inputs, "trackstar": trackstar.response,
        "adam_normalised": second_moments.one_step, "adafactor_normalised": second_moments.one_step}[name]
    arguments = inspect.signature(solve).parameters
    for field in declared(own.settings):
        assert arguments[field].default == getattr(own.settings(), field)


@pytest.mark.parametrize("name", [name for name in WITH_SETTINGS if any(
    setting.cost != FREE for setting in declared(ESTIMATORS[name].settings).values())])
def test_more_work_costs_more(name):
    from engine.estimators.cost import Work
    from engine.question.processes import LocalResponse
    from engine.question.runs import Replay

    own = ESTIMATORS[name]
    field = next(field for field in own.settings.model_fields if field != "moments")
    more = configured(written({"name": name, field: 4 * getattr(own.settings(), field)}))
    if field == "tolerance":
        more = configured(f"{name};iterations=400")
    work = Work(Replay() if name == "source" else LocalResponse(), 100, 5, 10, 1000, 5)
    assert more.cost.passes(work).examples > 1.5 * own.cost.passes(work).examples
