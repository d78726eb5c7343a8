"""TracIn against mean trusted gradients: beside the passes it cannot do without, and captum's TracInCP, in one run.

The least that four checkpoints and three behaviors need, by definition: at every checkpoint one forward pass of the
training set and one backward pass through the parameters that are scored, and of the trusted set one forward pass and
three backward passes. That is 4 (n + m) forward and 4 (n + 3m) backward passes of one example.
"""

import copy

import numpy as np
import pytest
import torch
from captum.influence import TracInCP
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from engine.applications.noisy_labels.evidence import Evidence
from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, Pair
from engine.applications.noisy_labels.scoring import gradient_scores
from engine.applications.noisy_labels.source import NoisySource, TrainedModel
from engine.basics.options import Options
from engine.gradients.layout import arranged
from engine.models.catalogue import build_model
from engine.question.behaviors import BEHAVIORS
from tests.benchmarks.bench_gradients import Batches, as_it_is
from tests.benchmarks.bench_problems import SMALL, fashion, seconds

N, TRUSTED = (120, 40) if SMALL else (4_500, 500)
RESIDUAL = (60, 60) if SMALL else (450, 100)
BESIDE = (120, 40) if SMALL else (1_000, 100)
ROUNDS = 1 if SMALL else 2
CHECKPOINTS, BATCH = 4, 64
LAYERS = ["hidden", "head"]


def trained(name, n, trusted, pool):
    """A model with four checkpoints of a short training on pictures of 28 / pool pixels a side."""
    data, dataset = fashion(n, trusted, 1, pool)
    side = 28 // pool
    x, q = (t.reshape(-1, 1, side, side).float() for t in (data.x, data.queries))
    torch.manual_seed(0)
    module, states = build_model(name, (1, side, side), 10), []
    step = torch.optim.SGD(module.parameters(), lr=0.02, momentum=0.9)
    for place in range(CHECKPOINTS):
        for rows in torch.randperm(n)[:640].split(32):
            step.zero_grad()
            cross_entropy(module(x[rows]), data.y[rows]).backward()
            step.step()
        states.append(({key: value.clone() for key, value in module.state_dict().items()}, 0.1 / (place + 1)))
    evidence = Evidence(x.numpy(), data.y.numpy(), q.numpy(), data.query_labels.numpy(), 10)
    return TrainedModel(evidence, None, module.eval(), states, NoisySource(model=name)), dataset


def least(model):
    """The passes that the scores need at least, and nothing else."""
    for state, _ in model.checkpoints:
        problem = model.at(state)
        network = problem.network
        leaves = {name: value.clone().requires_grad_() for name, value in network.unflatten(problem.theta).items()}
        for x, labels, backward in ((problem.x, problem.y, 1), (problem.queries, problem.query_labels, 3)):
            for rows in torch.arange(len(x)).split(BATCH):
                with torch.enable_grad():
                    value = cross_entropy(network.at(arranged(network, x[rows]), leaves), labels[rows])
                for _ in range(backward):
                    torch.autograd.grad(value, list(leaves.values()), retain_graph=True)


def in_turn(runs):
    """name -> (least seconds, result), every round one after the other, so that a busy machine is busy for all."""
    taken, found = dict.fromkeys(runs, float("inf")), {}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            once, found[name] = seconds(run)
            taken[name] = min(taken[name], once)
    return taken, found


@pytest.mark.parametrize(("name", "sizes", "pool"), [("cnn", (N, TRUSTED), 1), ("resnet18_cifar", RESIDUAL, 2)])
def test_close_to_the_passes_that_it_needs(name, sizes, pool):
    model, dataset = trained(name, *sizes, pool)
    gradient_scores(model, ("tracin",), Options())  # finds out the route once
    taken, _ = in_turn({"least": lambda: least(model),
                        "ours": lambda: gradient_scores(model, ("gradsim", "tracin"), Options())})
    n, m = sizes
    print(f"\nTracIn and GradSim, 3 behaviors × {CHECKPOINTS} checkpoints, {name} on {dataset}, "
          f"{n:,} training and {m:,} trusted examples, {model.problem.parameters:,} parameters scored: "
          f"{taken['ours']:.2f} s; the least, {CHECKPOINTS * (n + m):,} forward and {CHECKPOINTS * (n + 3 * m):,} "
          f"backward passes of one example: {taken['least']:.2f} s, {taken['ours'] / taken['least']:.2f} of it")
    assert SMALL or taken["ours"] <= 1.5 * taken["least"]


class Surrogate(nn.Module):
    """Minus the behavior, summed over a batch: what captum takes as the loss of test examples."""

    def __init__(self, behavior):
        super().__init__()
        self.behavior, self.reduction = BEHAVIORS[behavior], "sum"

    def forward(self, logits, labels):
        return -self.behavior.value(logits, labels).sum()


def captum(model, behavior):
    """() -> Σ_t η_t ⟨Σ_q ∇B(q), ∇ℓ_k⟩ with captum's sign, (n,)."""
    evidence, module = model.evidence, copy.deepcopy(model.module).requires_grad_(True)
    x, y, q, labels = (torch.tensor(values) for values in (evidence.x, evidence.y, evidence.trusted_x,
                                                           evidence.trusted_y))

    def load(into, place):
        into.load_state_dict(model.checkpoints[place][0])
        return model.checkpoints[place][1]

    tracin = TracInCP(module, DataLoader(Batches(x, y), batch_size=250, collate_fn=as_it_is), list(range(CHECKPOINTS)),
                      checkpoints_load_func=load, layers=LAYERS, loss_fn=nn.CrossEntropyLoss(reduction="sum"),
                      test_loss_fn=Surrogate(behavior), sample_wise_grads_per_batch=True)
    return lambda: tracin.influence((q, labels), aggregate=True).detach()[0]


def test_beside_captum():
    n, trusted_examples = BESIDE
    model, dataset = trained("cnn", n, trusted_examples, 1)
    gradient_scores(model, ("tracin",), Options())
    peers = {behavior: captum(model, behavior) for behavior in BEHAVIOR_TITLES}
    taken, found = in_turn({"ours": lambda: gradient_scores(model, ("tracin",), Options()), **peers})
    for behavior, title in BEHAVIOR_TITLES.items():
        ours = found["ours"][Pair("TracIn", title)]
        theirs = -found[behavior].double().numpy() / trusted_examples
        assert np.abs(ours - theirs).max() <= 2e-3 * np.abs(theirs).max()
    theirs = sum(taken[behavior] for behavior in peers)
    print(f"\nTracIn, 3 behaviors × {CHECKPOINTS} checkpoints, cnn on {dataset}, layers {' and '.join(LAYERS)}, {n:,} "
          f"training and {trusted_examples:,} trusted examples: ours {taken['ours']:.2f} s; captum's TracInCP "
          f"{theirs:.2f} s (one behavior {theirs / 3:.2f} s), {theirs / taken['ours']:.1f} times ours")
    assert SMALL or theirs >= 3 * taken["ours"]
