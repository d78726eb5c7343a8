"""Named estimators on a network, each against its formula spelt out with a Jacobian by torch.func."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, jacrev
from torch.nn.functional import normalize

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.estimators import ESTIMATORS, trak
from engine.gradients import products
from engine.models.recipe import Recipe
from engine.models.training import train
from engine.problems import ModuleProblem, ProblemSource
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import Retrain
from engine.scoring.compute import compute
from engine.scoring.controlled import step_scoring
from engine.scoring.scoring import Scoring

ADD, AUXILIARY, STEP = {"kind": "add_occurrence"}, {"kind": "auxiliary"}, {"kind": "one_step", "eta": 0.3}
N, QUERIES, FEATURES, CLASSES, CANDIDATES = 12, 4, 3, 3, [7, 0, 5]


@pytest.fixture(scope="module")
def problem():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(FEATURES, 4), nn.Tanh(), nn.Linear(4, CLASSES))
    x, q = torch.randn(N, FEATURES), torch.randn(QUERIES, FEATURES)
    return ModuleProblem(module, x, torch.arange(N) % CLASSES, q, torch.arange(QUERIES) % CLASSES, CANDIDATES, l2=0.05,
                         dtype="float64")


def jacobian(problem, x):
    """∂f/∂θ of every row, (b, C, P)."""
    network = problem.network

    def logits(theta):
        return functional_call(network.module, network.unflatten(theta), (x,))

    return jacrev(logits)(network.theta)


def gradients(problem, behavior="query_loss"):
    """(∇B (m, P), ∇ℓ (k, P)) through the Jacobians."""
    rows = problem.candidates
    signal = BEHAVIORS[behavior].signal(problem.query_logits, problem.query_labels)
    queries = torch.einsum("mcp,mc->mp", jacobian(problem, problem.queries), signal)
    own = torch.einsum("kcp,kc->kp", jacobian(problem, problem.x[rows]), problem.training_signal(rows))
    return queries, own


def scores(problem, behavior, intervention, process, estimator):
    return torch.as_tensor(compute(problem, Scoring.of(behavior, intervention, process, estimator))[0].values)


@pytest.mark.parametrize("behavior", ["query_loss", "query_logit", "hard_margin"])
def test_first_order_is_the_inner_product_of_gradients(problem, behavior):
    queries, own = gradients(problem, behavior)
    torch.testing.assert_close(scores(problem, behavior, ADD, STEP, "first_order"), -0.3 * queries @ own.T)
    five = {"kind": "unrolled", "eta": 0.1, "steps": 5}
    torch.testing.assert_close(scores(problem, behavior, ADD, five, "first_order"), -0.5 * queries @ own.T)


@pytest.mark.parametrize("behavior", ["query_loss", "query_logit"])
def test_cosine_of_gradients(problem, behavior):
    queries, own = gradients(problem, behavior)
    torch.testing.assert_close(scores(problem, behavior, ADD, STEP, "cosine"),
                               -0.3 * normalize(queries) @ normalize(own).T)


def test_a_cosine_is_the_change_under_an_update_of_length_one(problem):
    """B(θ − t ∇ℓ/‖∇ℓ‖) − B(θ) for a small t, per length of the query's gradient."""
    queries, own = gradients(problem)
    behavior, t = BEHAVIORS["query_loss"], 1e-6
    found = scores(problem, "query_loss", ADD, {**STEP, "eta": t}, "cosine") * queries.norm(dim=1, keepdim=True)
    for place, gradient in enumerate(own):
        values = [behavior.value(problem.outputs(problem.queries, problem.theta - step * gradient / gradient.norm()),
                                 problem.query_labels) for step in (t, -t)]
        torch.testing.assert_close(found[:, place], (values[0] - values[1]) / 2, rtol=1e-5, atol=1e-12)


def representations(problem, x):
    hidden = problem.network.module[1](problem.network.module[0](x))
    return torch.cat([hidden, torch.ones(len(x), 1)], 1)


def test_representations_by_inner_product_and_cosine(problem):
    queries, own = (representations(problem, x) for x in (problem.queries, problem.x[problem.candidates]))
    torch.testing.assert_close(scores(problem, "query_logit", AUXILIARY, STEP, "exact"), 0.3 * queries @ own.T)
    torch.testing.assert_close(scores(problem, "query_logit", AUXILIARY, STEP, "cosine"),
                               0.3 * normalize(queries) @ normalize(own).T)
    torch.testing.assert_close(scores(problem, "query_logit", AUXILIARY, STEP, "ntk_last_layer"), 0.3 * queries @ own.T)


def test_the_tangent_kernel_of_the_querys_own_class(problem):
    queries, own = jacobian(problem, problem.queries), jacobian(problem, problem.x[problem.candidates])
    expected = torch.stack([own[:, label] @ row[label] for row, label in
                            zip(queries, problem.query_labels.tolist(), strict=True)])
    torch.testing.assert_close(scores(problem, "query_logit", AUXILIARY, STEP, "ntk"), 0.3 * expected)


def test_the_last_layers_kernel_is_the_kernel_of_its_parameters(problem):
    last = ModuleProblem(problem.network.module, problem.x, problem.y, problem.queries, problem.query_labels,
                         problem.candidates, parameters="last_layer", dtype="float64")
    torch.testing.assert_close(scores(last, "query_logit", AUXILIARY, STEP, "ntk"),
                               scores(problem, "query_logit", AUXILIARY, STEP, "ntk_last_layer"))


@pytest.mark.parametrize("behavior", ["query_loss", "hard_margin"])
def test_the_cosine_of_last_layer_gradients_is_the_cosine_of_a_last_layer(problem, behavior):
    last = ModuleProblem(problem.network.module, problem.x, problem.y, problem.queries, problem.query_labels,
                         problem.candidates, parameters="last_layer", dtype="float64")
    torch.testing.assert_close(scores(problem, behavior, ADD, STEP, "cosine_last_layer"),
                               scores(last, behavior, ADD, STEP, "cosine"))


def test_representer_points_are_first_order_steps_of_the_last_layer(problem):
    last = ModuleProblem(problem.network.module, problem.x, problem.y, problem.queries, problem.query_labels,
                         problem.candidates, parameters="last_layer", dtype="float64")
    for behavior in ("query_loss", "query_logit"):
        torch.testing.assert_close(scores(problem, behavior, ADD, STEP, "representer"),
                                   scores(last, behavior, ADD, STEP, "first_order"))


def test_representer_values_add_up_to_the_logits_at_a_stationary_last_layer():
    """Yeh et al. (2018), Theorem 3.1: f(q) = Σ_k α_k φ(x_k)ᵀφ(q), for a layer whose bias is regularised too."""
    torch.manual_seed(2)
    x, y = torch.randn(N, FEATURES, dtype=torch.float64), torch.arange(N) % CLASSES
    layer = nn.Linear(FEATURES, CLASSES, dtype=torch.float64)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=500, tolerance_grad=1e-13, tolerance_change=0.0,
                                  line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        value = nn.functional.cross_entropy(layer(x), y)
        value = value + 0.05 * sum(parameter.square().sum() for parameter in layer.parameters())
        value.backward()
        return value

    optimizer.step(loss)
    problem = ModuleProblem(layer, x, y, x[:4], y[:4], l2=0.1, dtype="float64")
    features = problem.network.features(x)
    found = (features[:4] @ features.T) @ -problem.training_signal(torch.arange(N)) / (N * problem.l2)
    torch.testing.assert_close(found, problem.query_logits, rtol=1e-7, atol=1e-8)


def trak_parts(problem):
    """(φ_B(q)ᵀ (ΦᵀΦ + λI)⁻¹ φ(z_k) (m, b), 1 − p_k (b,)) without projection.

    With few examples the features span less than P, so the ridge is what makes the inverse exist."""
    margin = BEHAVIORS["soft_margin"].signal
    logits = problem.network.predict(problem.x)
    features = torch.einsum("ncp,nc->np", jacobian(problem, problem.x), margin(logits, problem.y))
    gram = features.T @ features
    gram = gram + trak.RIDGE * gram.trace() / min(features.shape) * torch.eye(len(gram), dtype=gram.dtype)
    queries, _ = gradients(problem, "soft_margin")
    doubt = 1 - logits.softmax(-1).gather(1, problem.y[:, None])[:, 0]
    return queries @ torch.linalg.solve(gram, features[problem.candidates].T), doubt[problem.candidates]


def trak_scores(problem, **settings):
    found = trak.left_out(problem, Retrain(), problem.candidates, Options(), projector="identity", **settings)[0]
    return found.scores(BEHAVIORS["soft_margin"], problem.query_labels)


def test_trak_without_projection_is_its_formula(problem):
    kernel, doubt = trak_parts(problem)
    expected = -kernel * doubt
    torch.testing.assert_close(trak_scores(problem), expected, rtol=1e-5, atol=1e-7 * expected.abs().max().item())


def ensembled(problem, ensemble):
    """A problem that was trained with two checkpoints, and the two models of an ensemble, by plain means."""
    def build():
        return nn.Sequential(nn.Linear(FEATURES, 4), nn.Tanh(), nn.Linear(4, CLASSES))

    recipe = Recipe(epochs=4, batch_size=5, learning_rate=0.3, checkpoints=2)
    runs = [train(build, problem.x, problem.y, recipe, seed) for seed in (6, 7)]
    own = ModuleProblem(runs[0].module, problem.x, problem.y, problem.queries, problem.query_labels, CANDIDATES,
                        dtype="float64", recipe=recipe, build=build, seed=6)
    own.keep_checkpoints(runs[0].checkpoints)
    modules = [run.module for run in runs]
    if ensemble == "checkpoints":
        modules = [build().double() for _ in range(2)]
        for module, (state, _) in zip(modules, runs[0].checkpoints, strict=True):
            module.load_state_dict(state)
    return own, [own.with_module(module, own.examples) for module in modules]


@pytest.mark.parametrize("ensemble", ["trained", "checkpoints"])
def test_trak_over_models_averages_kernels_and_doubts_by_themselves(problem, ensemble):
    own, models = ensembled(problem, ensemble)
    kernels, doubts = zip(*map(trak_parts, models), strict=True)
    expected = -torch.stack(kernels).mean(0) * torch.stack(doubts).mean(0)
    torch.testing.assert_close(trak_scores(own, models=2, ensemble=ensemble), expected, rtol=1e-5,
                               atol=1e-7 * expected.abs().max().item())
    single = trak_parts(models[0 if ensemble == "trained" else 1])
    assert not torch.allclose(-single[0] * single[1], expected)


def test_trak_needs_the_models_that_it_is_to_average(problem):
    own, _ = ensembled(problem, "trained")
    with pytest.raises(InvalidInput, match="stored 2"):
        trak_scores(own, models=3, ensemble="checkpoints")
    with pytest.raises(InvalidInput, match="unknown how this model was trained"):
        trak_scores(problem, models=2)


def test_trak_is_leave_one_out_of_a_logistic_regression():
    """Two classes: removal by TRAK, which leaves the weights p(1 − p) out, against the optimum without the example."""
    torch.manual_seed(4)
    n = 200
    x = torch.randn(n, 3, dtype=torch.float64)
    y = (x @ torch.tensor([1.0, -1.0, 0.5]).double() + torch.randn(n) > 0).long()
    layer = nn.Linear(3, 2, bias=False, dtype=torch.float64)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=300, tolerance_grad=1e-12, tolerance_change=0.0)

    def loss():
        optimizer.zero_grad()
        value = nn.functional.cross_entropy(layer(x), y) + 5e-5 * layer.weight.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    problem = ModuleProblem(layer, x, y, x[:20], y[:20], range(30), l2=1e-4, dtype="float64")
    remove = {"kind": "remove"}
    approximate = trak.left_out(problem, Retrain(), problem.candidates, Options(), projector="identity")[0]
    found = approximate.scores(BEHAVIORS["soft_margin"], problem.query_labels)
    exact = torch.as_tensor(compute(problem, Scoring.of("soft_margin", remove, {"kind": "reoptimize"}))[0].values)
    correlation = torch.corrcoef(torch.stack([found.flatten(), exact.flatten()]))[0, 1]
    assert correlation > 0.75 and (found.sign() == exact.sign()).double().mean() > 0.8


@pytest.mark.parametrize("damping", [0.0, 0.2])
def test_the_exact_local_response_is_a_dense_solve(problem, damping):
    network = problem.network

    def objective(theta):
        loss = nn.functional.cross_entropy(network.logits(problem.x, theta), problem.y)
        return loss + 0.5 * problem.l2 * theta.square().sum()

    hessian = torch.func.hessian(objective)(network.theta)
    damped = hessian + damping * torch.eye(len(hessian), dtype=hessian.dtype)
    queries, own = gradients(problem)
    found = scores(problem, "query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": damping},
                   "exact")
    torch.testing.assert_close(found, -queries @ torch.linalg.solve(damped, own.T), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("intervention", [{"kind": "upweight", "alpha": 1e-6}, {"kind": "remove", "normalization": "n"},
                                          {"kind": "remove"}, {"kind": "relabel", "label": 1}],
                         ids=lambda intervention: intervention["kind"])
def test_what_an_intervention_adds_to_the_gradient(problem, intervention):
    """The force against the gradient of the intervened objective less that of the factual one."""
    network, (k, *_) = problem.network, problem.candidates.tolist()

    def mean(theta, labels, left):
        each = nn.functional.cross_entropy(network.logits(problem.x, theta), labels, reduction="none")
        return (each * left).sum()

    ones, theta = torch.ones(N, dtype=torch.float64), network.theta.clone().requires_grad_(True)
    without = ones.clone()
    without[k] = 0.0
    relabelled = problem.y.clone()
    relabelled[k] = 1
    objectives = {
        "upweight": lambda: mean(theta, problem.y, ones / N) + mean(theta, problem.y, (ones - without) * 1e-6),
        "remove": lambda: mean(theta, problem.y, without / (N if "normalization" in intervention else N - 1)),
        "relabel": lambda: mean(theta, relabelled, ones / N),
    }
    change = objectives[intervention["kind"]]() - mean(theta, problem.y, ones / N)
    force = torch.autograd.grad(change, theta)[0]
    hessian = torch.func.hessian(lambda t: nn.functional.cross_entropy(network.logits(problem.x, t), problem.y)
                                 + 0.5 * problem.l2 * t.square().sum())(network.theta)
    damped = hessian + 0.5 * torch.eye(len(hessian), dtype=hessian.dtype)
    queries, _ = gradients(problem)
    expected = -(queries @ torch.linalg.solve(damped, force))
    found = scores(problem, "query_loss", intervention, {"kind": "reoptimize", "damping": 0.5}, "cg")[:, 0]
    assert (found - expected).norm() <= 0.03 * expected.norm()


def test_first_order_keeps_the_digits_of_candidates_that_a_network_is_sure_of():
    """Log-odds above 17, where float32 rounds p_y − 1 away. Beside the exact step at a small η."""
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, CLASSES))
    with torch.no_grad():
        module[2].weight.mul_(60)
    x, q = torch.randn(N, FEATURES), torch.randn(QUERIES, FEATURES)
    sure = ModuleProblem(module, x, module(x).argmax(-1), q, torch.arange(QUERIES) % CLASSES, l2=0.05)
    scorings = [Scoring.of("query_logit", ADD, {"kind": "one_step", "eta": 1e-4}, estimator)
                for estimator in ("exact", "first_order")]
    exact, found = (scores.values for scores in compute(sure, scorings))
    assert np.abs(found / exact - 1).max() < 1e-3


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_signs_of_first_order_scores_of_digits_that_a_network_is_sure_of(seed, monkeypatch):
    """As after many more epochs: its last layer is scaled so that the median log-odds of the labels is about 22."""
    recipe = {"epochs": 20, "batch_size": 25, "learning_rate": 0.05, "momentum": 0.9}
    digits = ProblemSource(dataset="digits", model="cnn", n_train=300, n_queries=20, n_candidates=60, recipe=recipe,
                           seed=seed).build().problem
    module = digits.network.module
    head = [part for part in module.modules() if isinstance(part, nn.Linear)][-1]
    factor = 22 / log_odds(digits).median()
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.mul_(factor)
    sure, plain = (ModuleProblem(module, digits.x, digits.y, digits.queries, digits.query_labels, digits.candidates)
                   for _ in range(2))
    assert log_odds(sure).median() > 20 and sure.network.dtype == torch.float32
    exact, found = (scores.values for scores in compute(sure, [
        step_scoring("query_loss", 1e-4, estimator) for estimator in ("exact", "first_order")]))
    np.testing.assert_array_equal(np.sign(found), np.sign(exact))
    monkeypatch.setattr(products, "differentiable", lambda loss: loss)
    rounded = compute(plain, step_scoring("query_loss", 1e-4, "first_order"))[0].values
    assert (np.sign(rounded) != np.sign(exact)).mean() > 0.2


def log_odds(problem):
    """Of the labels of the candidates, (m,)."""
    x, y = problem.x[problem.candidates], problem.y[problem.candidates]
    return -problem.loss(problem.outputs(x).double(), y).clamp(min=1e-40).expm1().log()


def test_behaviors_share_the_training_gradients(problem, monkeypatch):
    from engine.gradients import store

    fresh = problem.with_candidates(torch.tensor([1, 2]))
    built, real = [], store.TrainingGradients
    monkeypatch.setattr(store, "TrainingGradients",
                        lambda *arguments, **options: built.append(1) or real(*arguments, **options))
    compute(fresh, [Scoring.of(behavior, ADD, STEP, estimator) for behavior in ("query_loss", "query_logit")
                    for estimator in ("first_order", "cosine")])
    assert len(built) == 1


def test_what_a_network_has_no_answer_to_is_said(problem):
    with pytest.raises(InvalidInput, match="`kfac` .* for a neural network"):
        compute(problem, Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"}, "kfac"))


def test_less_and_its_two_halves_of_a_network_read_its_checkpoints():
    recipe = {"epochs": 2, "batch_size": 10, "learning_rate": 0.01, "optimizer": "adamw", "checkpoints": 2}
    source = ProblemSource(dataset="digits", n_train=20, n_queries=3, n_test=3, model="mlp", recipe=recipe, l2=0.1)
    built = source.build().problem
    assert built.l2 == 0.0, "AdamW's decay is no part of an objective"
    problem, theirs = built.double(), dict.fromkeys(("less", "adam", "cosine"), 0.0)
    for point in problem.checkpoints:
        values = problem.network.unflatten(point.theta)

        def losses(parts, x, y):
            return nn.functional.cross_entropy(functional_call(problem.network.module, parts, (x,)), y,
                                               reduction="none")

        def slopes(x, y, values=values):
            parts = jacrev(losses)(values, x, y)
            return torch.cat([parts[name].flatten(1) for name in problem.network.names], 1)

        gradients, queries = slopes(problem.x, problem.y), -slopes(problem.queries, problem.query_labels)
        optimizer_steps, updates = point.steps, []
        for own in gradients:  # one step of torch's optimizer from the moments of the checkpoint
            leaf = nn.Parameter(torch.zeros_like(own))
            optimizer = torch.optim.AdamW([leaf], lr=1.0, weight_decay=0.0)
            optimizer.state[leaf] = {"step": torch.tensor(float(optimizer_steps)), "exp_avg": point.first.clone(),
                                     "exp_avg_sq": point.second.clone()}
            leaf.grad = own.clone()
            optimizer.step()
            updates.append(-leaf.detach())
        unit, moved = normalize(queries, dim=1), torch.stack(updates)
        for name, product in {"less": unit @ normalize(moved, dim=1).T, "adam": queries @ moved.T,
                              "cosine": unit @ normalize(gradients, dim=1).T}.items():
            theirs[name] = theirs[name] - 0.1 * product
    assert optimizer_steps == 4
    for name, expected in theirs.items():
        scoring = Scoring.of("query_loss", ADD, {"kind": "trajectory", "eta": 0.1, "checkpoints": 2}, name)
        np.testing.assert_allclose(compute(problem, scoring, Options())[0].values,
                                   expected[:, problem.candidates].numpy(), rtol=1e-6, atol=1e-9)


def test_less_of_a_network_trained_by_descent_is_refused(problem):
    less = Scoring.of("query_loss", ADD, {"kind": "trajectory", "eta": 0.1, "checkpoints": 2}, "less")
    with pytest.raises(InvalidInput, match="does not target `trajectory`"):
        compute(problem, less, Options())
    question = less.specification
    kept = Recipe(epochs=2, batch_size=4, learning_rate=0.1, optimizer="adam", checkpoints=1).offers
    assert ESTIMATORS["less"].refusal(question, "module") and not ESTIMATORS["less"].refusal(question, "module", kept)
