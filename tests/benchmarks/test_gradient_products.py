"""Gradient products and one-direction scores of a CNN against captum's TracInCP and kronfluence, in one run."""

import subprocess
import sys

import torch
from torch import nn
from torch.nn.functional import cross_entropy, max_pool2d

from engine.gradients.directional import loss_derivatives
from engine.gradients.products import TrainingGradients, summed_slopes
from engine.problems.module import ModuleProblem
from tests.benchmarks.bench_gradients import captum, kronfluence, pictures
from tests.benchmarks.bench_problems import SMALL, seconds

N, QUERIES, MANY, BATCHES = (60, 10, 100, (50,)) if SMALL else (1_000, 100, 10_000, (50, 100, 250, 500))
HELD, ASKED = (200, 20) if SMALL else (50_000, 500)
ROUNDS = 1 if SMALL else 3
RELATIVE = 1e-5
PEERS = (captum, kronfluence)


def fastest(peer, problem, aggregate):
    """(batch size, seconds, result) of the peer's fastest batch size over the first N training examples."""
    timed = [(*seconds(peer(problem, torch.arange(N), batch, aggregate), 2), batch) for batch in BATCHES]
    least, result, batch = min(timed, key=lambda run: run[0])
    return batch, least, result


def loss_signal(problem):
    """∂ℓ/∂f of the queries, for the same sign as the peers' scores."""
    return problem.loss_signal(problem.query_logits, problem.query_labels)


def loop(problem, x, y):
    """∇ℓ example by example, (len(x), P)."""
    module = problem.network.module.requires_grad_(True)
    rows = [torch.autograd.grad(cross_entropy(module(x[i:i + 1]), y[i:i + 1]), list(module.parameters()))
            for i in range(len(x))]
    return torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])


def exact_products(problem):
    """The products of every query with every training example by a loop, (m, n)."""
    queries = loop(problem, problem.queries, problem.query_labels)
    return torch.cat([queries @ loop(problem, problem.x[rows], problem.y[rows]).T
                      for rows in torch.arange(problem.n).split(100)], 1)


def off(wrong):
    """The fewest rows and columns, greedily, that hold every entry that is wrong: (queries, training examples)."""
    wrong, found = wrong.clone(), ([], [])
    while wrong.any():
        counts = [wrong.sum(1), wrong.sum(0)]
        axis = int(counts[1].max() > counts[0].max())
        found[axis].append(int(counts[axis].argmax()))
        wrong.select(axis, found[axis][-1]).fill_(False)
    return found


def switches(module, x):
    """Which unit wins in every max-pooling of one picture, and which ReLUs are on."""
    found = []
    for layer in module:
        if isinstance(layer, nn.MaxPool2d):
            found.append(max_pool2d(x, layer.kernel_size, return_indices=True)[1].flatten())
        elif isinstance(layer, nn.ReLU):
            found.append((x > 0).flatten().long())
        x = layer(x)
    return torch.cat(found)


def test_full_products():
    problem, name = pictures(N, QUERIES)
    twin = ModuleProblem(problem.network.module, problem.x, problem.y, problem.queries, problem.query_labels,
                         dtype="float64")
    rows, signal = torch.arange(N), loss_signal(problem)
    TrainingGradients(problem, rows[:40]).products(problem.queries[:40], signal[:40])  # finds out the layers once
    ours, found = seconds(lambda: TrainingGradients(problem, rows).products(problem.queries, signal), 3)
    batch, theirs = {}, {}
    for peer in PEERS:
        batch[peer], theirs[peer], scores = fastest(peer, problem, False)
        assert (scores - found).abs().max() <= 1e-3 * found.abs().max()
    expected = exact_products(twin)
    error = (found - expected).abs() / expected.abs().amax(1, keepdim=True)
    queries, examples = off(error > RELATIVE)
    for place, x in [(q, problem.queries) for q in queries] + [(k, problem.x) for k in examples]:
        one = x[place:place + 1]
        assert not switches(problem.network.module, one).equal(switches(twin.network.module, one.double()))
    print(f"\nfull products, CNN of {problem.parameters:,} parameters on {name}, {N} × {QUERIES}: ours {ours:.2f} s; "
          + ", ".join(f"{peer.__name__} {theirs[peer]:.2f} s (batches of {batch[peer]}), "
                      f"{theirs[peer] / ours:.1f} times ours" for peer in PEERS)
          + f"; relative error against a float64 loop at most {RELATIVE:g} (the median query's "
            f"{error.amax(1).median():.0e}), beside queries {queries or 'none'} and training examples "
            f"{examples or 'none'}, where a max-pool winner or a ReLU switches in float32")
    assert len(queries) <= QUERIES / 20 and len(examples) <= N / 100
    assert SMALL or min(theirs.values()) / ours >= 2


def mean_direction(problem, signal):
    """(1/m) Σ_q J_qᵀ s_q, the gradient (P,) of the mean behavior, batches of queries at a time."""
    network, total = problem.network, 0
    for x, s in zip(problem.queries.split(512), signal.split(512), strict=True):
        values = {name: value.detach().requires_grad_() for name, value in network.unflatten(network.theta).items()}
        mean = (network.at(x, values) * s).sum() / len(signal)
        gradients = torch.autograd.grad(mean, list(values.values()))
        total = total + network.flatten(dict(zip(values, gradients, strict=True)))
    return total


def test_one_score_a_training_example():
    problem, name = pictures(MANY, QUERIES)
    rows, signal = torch.arange(MANY), loss_signal(problem)
    loss_derivatives(problem, rows[:40], problem.theta)  # finds out the route once
    batch = {peer: fastest(peer, problem, True)[0] for peer in PEERS}

    def slope():
        return summed_slopes(problem, problem.queries, lambda logits, part: [signal[part] / QUERIES], 1)[0]

    runs = {"ours": lambda: loss_derivatives(problem, rows, slope()),
            **{peer.__name__: peer(problem, rows, batch[peer], True) for peer in PEERS}}
    taken, found = dict.fromkeys(runs, float("inf")), {}
    for _ in range(ROUNDS):  # in turn, so that a busy machine is busy for all
        for library, run in runs.items():
            once, found[library] = seconds(run)
            taken[library] = min(taken[library], once)
    faster = {peer.__name__: taken[peer.__name__] / taken["ours"] for peer in PEERS}
    for library in faster:
        assert (found[library][0] / QUERIES - found["ours"]).abs().max() <= 1e-3 * found["ours"].abs().max()
    print(f"\none score a training example, the same network on {name}, N = {MANY:,} against the mean of {QUERIES} "
          f"queries: ours {taken['ours']:.2f} s; " + ", ".join(
              f"{peer.__name__} {taken[peer.__name__]:.2f} s (batches of {batch[peer]}), "
              f"{faster[peer.__name__]:.1f} times ours" for peer in PEERS))
    assert SMALL or (faster["captum"] >= 5 and faster["kronfluence"] >= 2.5)


def test_products_fit_in_memory():
    run = subprocess.run([sys.executable, "-m", "tests.benchmarks.gradient_memory", str(HELD), str(ASKED)],
                         capture_output=True, text=True, check=True)
    peak, taken = map(float, run.stdout.split())
    print(f"\nproducts of {HELD:,} training gradients with {ASKED} queries, the same network: {peak:.1f} GiB at most, "
          f"{taken:.0f} s")
    assert peak <= 8
