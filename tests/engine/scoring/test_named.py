"""The named methods: the specification that each implies (paper, Table 1), and two of their formulas."""

import numpy as np
import pytest
import torch

from engine.curvature import InverseHessian
from engine.estimators import ESTIMATORS, Estimator
from engine.estimators.named import ROWS
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.scoring.verdict import verdict
from tests.engine import problems_for_tests as naive

TABLE_1 = {
    # name: (behavior, intervention, process, estimator, row)
    "repsim": ("query_logit", "auxiliary", "one_step", "exact", "Feature similarity"),
    "gradsim": ("query_loss", "add_occurrence", "one_step", "first_order", "Gradient similarity"),
    "tracin": ("query_loss", "add_occurrence", "trajectory", "first_order", "Trajectory-based"),
    "influence_function": ("query_loss", "infinitesimal", "local_response", "exact", "Influence functions"),
    "influence_function_cg": ("query_loss", "infinitesimal", "local_response", "cg", "Influence functions"),
    "influence_function_cg_gauss_newton": ("query_loss", "infinitesimal", "local_response", "cg_gauss_newton",
                                           "Influence functions"),
    "influence_function_lissa": ("query_loss", "infinitesimal", "local_response", "lissa", "Influence functions"),
    "loo": ("query_loss", "remove", "retrain", "exact", "Leave-one-out"),
    "repsim_cosine": ("query_logit", "auxiliary", "one_step", "cosine", "Feature similarity"),
    "ntk": ("query_logit", "auxiliary", "one_step", "ntk", "Feature similarity"),
    "ntk_last_layer": ("query_logit", "auxiliary", "one_step", "ntk_last_layer", "Feature similarity"),
    "gradsim_cosine": ("query_loss", "add_occurrence", "one_step", "cosine", "Gradient similarity"),
    "ntk_loss_gradients": ("query_loss", "add_occurrence", "one_step", "cosine_last_layer", "The authors' code"),
    "representer": ("query_logit", "add_occurrence", "one_step", "representer", "Gradient similarity"),
    "influence_function_arnoldi": ("query_loss", "infinitesimal", "local_response", "arnoldi", "Influence functions"),
    "influence_function_ekfac": ("query_loss", "infinitesimal", "local_response", "ekfac", "Influence functions"),
    "influence_function_datainf": ("query_loss", "infinitesimal", "local_response", "datainf", "Influence functions"),
    "influence_function_astra": ("query_loss", "infinitesimal", "local_response", "astra", "Influence functions"),
    **{f"influence_function_{name}": ("query_loss", "infinitesimal", "local_response", name, "Influence functions")
       for name in ("tkfac", "shampoo", "logra", "factgrass")},
    "trackstar": ("query_loss", "infinitesimal", "local_response", "trackstar", "Influence functions"),
    "gradsim_adam": ("query_loss", "add_occurrence", "one_step", "adam_normalised", "Gradient similarity"),
    "gradsim_adafactor": ("query_loss", "add_occurrence", "one_step", "adafactor_normalised", "Gradient similarity"),
    **{name: ("query_loss", "infinitesimal", "replay", name if name != "replay" else "exact", "Training run")
       for name in ("source", "dvemb", "tracin_run", "in_run_shapley", "replay")},
    "trak": ("soft_margin", "remove", "retrain", "trak", "Leave-one-out"),
    "trak_fisher": ("soft_margin", "infinitesimal", "local_response", "trak_fisher", "The authors' code"),
    "less_final": ("response_loss", "add_occurrence", "one_step", "less_final", "The authors' code"),
    "less": ("response_loss", "add_occurrence", "trajectory", "less", "Trajectory-based"),
}
TEXTS = {"bm25", "text_embedding"}
CLASSES = {"knn_shapley", "knn_shapley_inputs"}
BASELINES = {"gradient_norm", "random"} | TEXTS | CLASSES
NETWORK_ONLY = {"repsim_cosine", "ntk", "ntk_last_layer", "gradsim_cosine", "representer",
                "ntk_loss_gradients",
                "influence_function_cg_gauss_newton", "influence_function_ekfac", "influence_function_datainf",
                "influence_function_astra", "influence_function_tkfac", "influence_function_shampoo",
                "influence_function_logra", "influence_function_factgrass", "trackstar", "trak", "trak_fisher", "less",
                "less_final"}


def test_the_implied_specifications():
    assert {name: (s.behavior, s.intervention.kind, s.process.kind, s.estimator, method.row)
            for name, method in NAMED.items() if method.implies for s in [method.implied()]} == TABLE_1
    assert set(NAMED) - set(TABLE_1) == BASELINES
    assert all(method.title and method.source for method in NAMED.values())


def test_which_methods_answer_for_which_kind_of_model():
    assert {name for name, method in NAMED.items() if not method.answers("softmax")} == (
        NETWORK_ONLY | TEXTS | {"knn_shapley"})
    assert {name for name, method in NAMED.items() if not method.answers("module")} == {"less", "less_final"} | TEXTS
    assert all(NAMED[name].answers("causal") for name in ("less", *BASELINES - CLASSES))


@pytest.mark.parametrize("name", TABLE_1)
def test_behavior_and_step_size_can_be_chosen(name):
    method = NAMED[name]
    chosen = method.implied("hard_margin", eta=0.25)
    assert chosen.behavior == "hard_margin"
    assert chosen.process.kind == "replay" or getattr(chosen.process, "eta", 0.25) == 0.25
    assert chosen.differing_axes(method.implied(eta=0.25)) == ("B",)


def test_the_verdict_on_two_methods_is_derived():
    of = {name: method.implied() for name, method in NAMED.items()}
    assert verdict(of["influence_function"], of["influence_function_cg"]).kind == "approximation error"
    assert verdict(of["loo"], of["influence_function"]).code == "specification mismatch on {P,T}"
    assert verdict(of["gradsim"], of["tracin"]).code == "both on {T}"


def test_gradsim_is_the_step_times_the_inner_product_of_gradients():
    """η ⟨∇ℓ(q), ∇ℓ(k)⟩ with both gradients by autograd."""
    problem = naive.problem(n=20, candidates=[4, 2, 7])
    found = compute(problem, NAMED["gradsim"].implied(eta=0.3))[0].values

    def slope(x, y):
        leaf = problem.weights.clone().requires_grad_(True)
        return torch.autograd.grad(torch.nn.functional.cross_entropy((x @ leaf)[None], y[None]), leaf)[0]

    expected = [[0.3 * (slope(x, y) * slope(problem.x[k], problem.y[k])).sum().item() for k in (4, 2, 7)]
                for x, y in zip(problem.queries, problem.query_labels, strict=True)]
    naive.assert_close(found, expected, 1e-12)


def test_repsim_is_the_step_times_the_inner_product_of_features():
    problem = naive.problem(n=20, candidates=[4, 2, 7])
    found = compute(problem, NAMED["repsim"].implied(eta=0.3))[0].values
    naive.assert_close(found, 0.3 * np.array([[q @ problem.x[k] for k in (4, 2, 7)] for q in problem.queries]), 1e-12)


def test_values_of_the_process_can_be_chosen_where_it_has_them():
    process = NAMED["tracin"].implied("response_loss", checkpoints=3, damping=0.1).process
    assert (process.kind, process.checkpoints) == ("trajectory", 3)
    assert NAMED["influence_function_cg"].implied(checkpoints=3, damping=0.1).process.damping == 0.1
    assert NAMED["gradsim"].implied(checkpoints=3, damping=0.1) == NAMED["gradsim"].implied()


def test_similarities_and_baselines_read_no_behavior_that_is_asked_about():
    assert {name for name, method in NAMED.items() if not method.reads} == BASELINES | {"ntk_loss_gradients"} | {
        name for name, row in TABLE_1.items() if row[-1] == "Feature similarity"}


def test_an_estimator_that_forgets_its_cost_cannot_be_made():
    with pytest.raises(TypeError, match="cost"):
        Estimator("free", "free of charge", False, "Never asked what it takes.")
    with pytest.raises(TypeError, match="products"):
        InverseHessian("free", "Free of charge", "nobody", lambda operator, rhs: None, ())


def test_names_are_those_that_the_estimators_state():
    stated = [(one.name, estimator.name) for estimator in ESTIMATORS.values() for one in estimator.named]
    assert sorted(stated) == sorted((name, method.estimator) for name, method in NAMED.items())
    rows = [ROWS.index(method.row) for method in NAMED.values()]
    assert rows == sorted(rows)
    assert all(method.label and method.note for method in NAMED.values())
