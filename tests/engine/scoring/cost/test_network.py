"""The guess for networks: what it must grow with, what it must not count twice, and torch's count of operations."""

import threading

import pytest
import torch

from engine.models.mlp import mlp
from engine.scoring.controlled import removal_scoring, response, search_scoring, step_scoring, unrolled_scoring
from engine.scoring.cost import guess, network
from engine.scoring.scoring import Scoring
from tests.engine.exact import network_cases as cases

STEP, FIRST_ORDER = step_scoring("query_loss", 0.1), step_scoring("query_loss", 0.1, "first_order")
LOO, SOLVE = removal_scoring("n-1"), response()
RETRAIN = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"})
TRAJECTORY = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "trajectory", "eta": 0.1})
SIZES = {"n": 500, "queries": 100, "candidates": 20, "flops": 3e6, "parameters": 150_000}


@pytest.mark.parametrize("size", ["n", "queries", "candidates", "flops"])
def test_more_of_anything_costs_more(size):
    larger = {**SIZES, size: 10 * SIZES[size]}
    assert network.seconds([LOO, STEP], **larger) > network.seconds([LOO, STEP], **SIZES)


def test_gradients_are_cheaper_than_steps_than_searches_than_training_and_optima_are_dear():
    costs = [network.seconds([scoring], **SIZES) for scoring in (
        FIRST_ORDER, STEP, unrolled_scoring(), search_scoring({"kind": "remove"}), RETRAIN)]
    assert costs == sorted(costs) and costs[0] < 0.1 < 10 < costs[3]
    short = costs[3]
    assert network.seconds([LOO], **SIZES) > 5 * short
    more = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "local_search", "iterations": 200})
    assert network.seconds([more], **SIZES) == pytest.approx(10 * short, rel=0.1)
    assert network.seconds([TRAJECTORY], **SIZES) > 4 * network.seconds([STEP], **SIZES)


def test_a_tangent_kernel_costs_as_much_for_every_output_that_queries_raise():
    kernel = Scoring.of("query_logit", {"kind": "auxiliary"}, {"kind": "one_step", "eta": 0.1}, "ntk")
    few, many = (network.seconds([kernel], **SIZES, outputs=count) for count in (2, 20))
    assert many > 5 * few
    assert network.seconds([FIRST_ORDER], **SIZES, outputs=20) == network.seconds([FIRST_ORDER], **SIZES)


def test_words_of_a_users_cost_steps_of_their_own_and_share_trainings():
    def asked(process, *behaviors):
        kind = "remove" if process["kind"] == "retrain" else "add_occurrence"
        return network.seconds([Scoring.of(name, {"kind": kind}, process) for name in behaviors], **SIZES)

    step, train = {"kind": "one_step", "eta": 0.1}, {"kind": "retrain"}
    assert asked(step, "response_loss", "span:a") > 1.5 * asked(step, "response_loss", "answer_logit")
    assert asked(train, "response_loss", "span:a") == asked(train, "response_loss", "answer_logit")


@pytest.mark.parametrize(("queries", "candidates", "shared"), [(5, 50, False), (50, 5, True)])
def test_a_replay_costs_a_column_for_the_fewer_and_backwards_one_for_each_behavior(queries, candidates, shared):
    def cost(*behaviors, **sizes):
        return network.seconds([Scoring.of(name, {"kind": "infinitesimal"}, {"kind": "replay"}) for name in behaviors],
                               **{**SIZES, "queries": queries, "candidates": candidates, **sizes})

    alone = cost("query_loss")
    assert cost("query_loss", **{("queries" if shared else "candidates"): 60}) == pytest.approx(alone, rel=0.1)
    assert cost("query_loss", **{("candidates" if shared else "queries"): 10}) > 1.4 * alone
    assert cost("query_loss", "soft_margin") == pytest.approx(alone if shared else 2 * alone, rel=0.1)


def test_a_cheap_solver_is_cheaper_and_the_whole_hessian_is_dear():
    assert network.seconds([response(solver="ekfac")], **SIZES) < network.seconds([SOLVE], **SIZES) / 10
    dense = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})
    assert network.seconds([dense], **SIZES) > network.seconds([SOLVE], **SIZES)


def test_a_factored_inverse_is_applied_to_more_candidates_for_next_to_nothing():
    few, many = (network.seconds([response(solver="ekfac")], **{**SIZES, "candidates": count}) for count in (20, 400))
    assert few < many < 2 * few


def test_behaviors_share_their_models():
    behaviors = [removal_scoring("n-1"), Scoring.of("query_logit", LOO.intervention, LOO.process)]
    assert network.seconds(behaviors, **SIZES) < 1.1 * network.seconds([LOO], **SIZES)
    assert network.seconds([], **SIZES) == 0.0


def test_operations_are_those_of_the_matrix_products():
    problem = cases.problem()
    assert network.of_problem(problem)[0] > 0
    assert guess([STEP], problem, 5) < guess([STEP], problem, 500)
    module = mlp((64,), 10)
    expected = sum(2 * layer.in_features * layer.out_features for layer in module if hasattr(layer, "in_features"))
    from engine.problems import ModuleProblem
    x = [[0.0] * 64]
    assert network.of_problem(ModuleProblem(module, x, [0], x, [0])) == (expected, 1.0)


def test_the_count_waits_for_a_computation_that_does_not_wait_for_it(monkeypatch):
    problem, counting = cases.problem(), threading.Event()

    class Counter(network.FlopCounterMode):
        def __enter__(self):
            counting.set()
            return super().__enter__()

    monkeypatch.setattr(network, "FlopCounterMode", Counter)
    guess_of_it = threading.Thread(target=network.of_problem, args=(problem,), daemon=True)

    def compute():
        with problem.exclusive:
            guess_of_it.start()
            counting.wait(5.0)
            problem.memo("what a solver shares", int)

    computation = threading.Thread(target=compute, daemon=True)
    computation.start()
    for thread in (computation, guess_of_it):
        thread.join(5.0)
        assert not thread.is_alive(), "two threads wait for each other"


def test_backward_passes_go_no_further_than_the_first_parameter_that_counts():
    module = torch.nn.Sequential(torch.nn.Linear(6, 10), torch.nn.ReLU(), torch.nn.Linear(10, 3))
    x = torch.zeros(1, 6)
    assert network.flops_and_reach(module, ["0.weight", "2.bias"], lambda: module(x)) == (2 * (6 * 10 + 10 * 3), 1.0)
    assert network.flops_and_reach(module, ["2.weight"], lambda: module(x)) == (180, pytest.approx(30 / 90))
    assert not module[2]._forward_pre_hooks
    whole, last = (network.seconds([response(solver="ekfac")], **SIZES, reach=reach) for reach in (1.0, 0.1))
    assert last < whole / 5
