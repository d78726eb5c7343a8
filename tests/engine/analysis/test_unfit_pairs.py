"""How unfit pairs of intervention and process are read on the way of an explanation, and the seed as a part of T."""

import numpy as np
import pytest
import torch

from engine.analysis.chain import SEED, chain
from engine.analysis.comparison import compare
from engine.analysis.explanation import explain
from engine.models.recipe import Recipe
from engine.models.training import train
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import INTERVENTIONS, Infinitesimal, Relabel, Remove, Upweight
from engine.question.processes import PROCESSES, LocalResponse, LocalSearch, Replay, Retrain
from engine.scoring.compute import compute
from engine.scoring.intermediate import intermediate
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring
from tests.engine.exact import network_cases
from tests.engine.problems_for_tests import assert_close, intervened, optimum, problem, values
from tests.engine.single_thread import one_thread  # noqa: F401

ADD = {"kind": "add_occurrence"}
REMOVE, REOPTIMIZE = {"kind": "remove"}, {"kind": "reoptimize"}
LOCAL = ({"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.1})


@pytest.fixture(scope="module")
def small():
    return problem(n=40, candidates=range(25), queries=6)


@pytest.mark.parametrize(("parts", "expected"), [
    ((ADD, REOPTIMIZE), ({"kind": "upweight", "alpha": 0.1}, REOPTIMIZE)),
    ((ADD, {"kind": "retrain"}), ({"kind": "upweight", "alpha": 0.1}, {"kind": "retrain"})),
    ((ADD, {"kind": "local_search"}), ({"kind": "upweight", "alpha": 0.1}, {"kind": "local_search"})),
    ((LOCAL[0], {"kind": "reoptimize", "damping": 0.1}), LOCAL),
    ((ADD, LOCAL[1]), LOCAL), (({"kind": "upweight", "alpha": 0.2}, LOCAL[1]), LOCAL)])
def test_readings_of_unfit_pairs(parts, expected):
    intervention, process = parts
    found = intermediate("query_loss", INTERVENTIONS[intervention["kind"]].parse(intervention),
                         PROCESSES[process["kind"]].parse(process), n=10)
    assert found.scoring == Scoring.of("query_loss", *expected) and found.reading


def test_the_reading_of_an_infinitesimal_weight_is_its_limit(small):
    """Re-optimised under ever smaller weights, scores per weight tend to the local response with that damping."""
    local = compute(small, Scoring.of("query_loss", *LOCAL))[0].values
    alpha = 1e-6
    finite = compute(small, Scoring.of("query_loss", {"kind": "upweight", "alpha": alpha},
                                       {"kind": "reoptimize", "damping": 0.1}))[0].values / alpha
    np.testing.assert_allclose(finite, local, rtol=0, atol=1e-3 * np.abs(local).max())


@pytest.mark.parametrize("alpha", [0.02, 1e-6, -1e-6, -0.02])
def test_a_weight_that_is_read_as_an_infinitesimal_one_ranks_alike_after_orientation(small, alpha):
    """Whatever its sign: its linear response under the same process, and, where it is small, the finite one too."""
    found = intermediate("query_loss", Upweight(alpha=alpha), LocalResponse(damping=0.1), small.n, convex=True)
    assert found.scoring == Scoring.of("query_loss", *LOCAL)
    assert ("negative multiple" in found.reading) == ("once the sign is turned" in found.reading) == (alpha < 0)
    search = {"kind": "reoptimize", "damping": 0.1}
    routes = ["cholesky", *(["exact"] if abs(alpha) < 1e-3 else [])]
    read, *weighed = compute(small, [found.scoring, *(Scoring.of(
        "query_loss", Upweight(alpha=alpha), search, route) for route in routes)])
    for scores in weighed:
        assert compare([[scores, read]]).agreement("kendall_tau", 0, 1).mean > 0.999
    exact = Scoring.of("query_loss", Upweight(alpha=alpha), search)
    near = explain(small, exact, Scoring.of("query_loss", Upweight(alpha=abs(alpha)), search))
    assert near.whole["kendall_tau"].mean > 0.9 and near.direct.mean < 0.05


@pytest.mark.parametrize("row", [0, 7])
def test_retraining_under_an_infinitesimal_weight_is_its_difference_quotient(small, row):
    """Trained from scratch under weights ±α, by a Newton method of the tests' own."""
    found = intermediate("query_loss", Infinitesimal(), Retrain(), small.n, convex=True)
    assert found.scoring == Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})
    alpha = 1e-5
    ends = [values(BEHAVIORS["query_loss"], small, optimum(small, Upweight(alpha=alpha).model_copy(
        update={"alpha": sign * alpha}), row)) for sign in (1, -1)]
    quotient = (ends[0] - ends[1]) / (2 * alpha)
    assert_close(compute(small, found.scoring)[0].values[:, row], quotient, 1e-6)


@pytest.mark.parametrize("intervention", [REMOVE, {"kind": "remove", "normalization": "n"},
                                          {"kind": "relabel", "label": 1}])
def test_a_finite_change_under_the_local_response_is_its_derivative(small, intervention):
    """The optimum of L_D + t·(L_k − L_D), by the tests' own Newton method, at small ±t."""
    changed = INTERVENTIONS[intervention["kind"]].parse(intervention)
    found = intermediate("query_loss", changed, LocalResponse(), small.n, convex=True)
    row, step = 4, 1e-3
    change = intervened(small, changed, row)
    ends = [values(BEHAVIORS["query_loss"], small, optimum(small, change={
        "data_weight": 1 + t * (change.get("data_weight", 1.0) - 1),
        "extra": [(k, label, t * weight) for k, label, weight in change["extra"]]})) for t in (step, -step)]
    assert_close(compute(small, found.scoring)[0].values[:, row], (ends[0] - ends[1]) / (2 * step), 1e-6)


@pytest.mark.parametrize(("intervention", "process"), [
    (Remove(), LocalResponse(damping=0.1)), (Remove(normalization="n"), LocalResponse(damping=0.1)),
    (Remove(normalization="n"), Replay())], ids=lambda value: value.title)
def test_removal_from_a_network_to_first_order_ranks_as_a_weight(intervention, process):
    found = intermediate("query_loss", intervention, process, 10)
    assert found.scoring == Scoring.of("query_loss", {"kind": "infinitesimal"}, process) and found.reading
    assert intermediate("query_loss", Relabel(label=1), process, 10).scoring is None
    assert intermediate("query_loss", Remove(), Replay(), 10).scoring is None  # batches lose no member


def test_a_small_weight_against_removal_over_n_along_a_run():
    """Really trained, with a weight a little below one: what is taken for the first-order term of a removal."""
    network = replayed_network()
    change = compute(network, Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"}))[0].values
    weights = torch.ones(network.n, dtype=torch.float64)
    weights[4] = 1 - 1e-4
    behavior = BEHAVIORS["query_loss"]
    before, after = (behavior.value(ended(network, used), network.query_labels)
                     for used in (torch.ones_like(weights), weights))
    place = network.candidates.tolist().index(4)
    assert_close((after - before) / 1e-4, -change[:, place] / network.n, 1e-2)


def test_iterations_that_reach_no_optimum_have_no_derivative_in_the_table():
    found = intermediate("query_loss", Infinitesimal(), LocalSearch(), 10, convex=True)
    assert found.scoring is None and "`local_search`" in found.reading


def test_retraining_a_network_under_an_infinitesimal_weight_is_replay():
    found = intermediate("query_loss", Infinitesimal(), Retrain(seeds=2), 10)
    assert found.scoring == Scoring.of("query_loss", Infinitesimal(), Replay(seeds=2)) and "replay" in found.reading


def test_leave_one_out_and_influence_functions_of_a_network_are_told_apart():
    """No bracket: retraining, its derivative, the local response."""
    network = replayed_network()
    found = explain(network, NAMED["loo"].implied(),
                    Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.1}))
    assert [link.causes for link in found.links] == [("P",), ("T",)]
    assert all(found.bracket(cause)[0] == found.bracket(cause)[1] for cause in ("P", "T"))
    assert "together" not in found.sentence and not any("no ranking: ." in note for note in found.notes)


def replayed_network():
    recipe = Recipe(epochs=2, batch_size=4, learning_rate=0.2, momentum=0.5)
    return network_cases.problem(network_cases.smooth, (4,), recipe=recipe, build=network_cases.smooth, n=10,
                                 queries=4, candidates=range(3, 9))


def ended(network, weights):
    recipe, build = network.training()
    module = train(build, network.x, network.y, recipe, network.seed, weights=weights, normalization="n",
                   dtype=torch.float64).module
    with torch.no_grad():
        return module(network.queries)


def test_two_runs_of_one_question_differ_in_the_seed_alone():
    network = replayed_network()
    own, other = (Scoring.of("query_loss", REMOVE, Retrain(first=first)) for first in (0, 1))
    found = explain(network, own, other)
    assert [link.causes for link in found.links] == [(SEED,)] and found.path == pytest.approx(found.direct.mean)
    assert found.sentence == "100% of the path is the seed."
    comparison = compare([compute(network, [own, other])])
    assert comparison.table()["verdict"][0] == "another run"
    assert comparison.verdicts[0][1].headline == "Same question about another run"


def test_the_seed_has_a_share_of_its_own_beside_the_rest_of_the_process():
    network = replayed_network()
    retrained = Scoring.of("query_loss", {"kind": "upweight", "alpha": 0.1}, Retrain())
    replayed = Scoring.of("query_loss", Infinitesimal(), Replay(first=1))
    found = explain(network, retrained, replayed)
    assert {cause for link in found.links for cause in link.causes} == {"P", "T", SEED}
    assert all(found.bracket(cause)[0] == found.bracket(cause)[1] for cause in ("P", "T", SEED))
    assert found.path == pytest.approx(found.direct.mean + found.slack) and found.orders > 1
    middle = chain(retrained, replayed, network.n).stations[frozenset({SEED})]
    assert middle == Scoring.of("query_loss", {"kind": "upweight", "alpha": 0.1}, Retrain(first=1))


def test_where_one_answer_has_no_runs_the_seed_stays_with_the_process():
    found = chain(Scoring.of("query_loss", REMOVE, REOPTIMIZE), Scoring.of("query_loss", REMOVE, Retrain(first=2)), 10)
    assert found.causes == ("T",)
