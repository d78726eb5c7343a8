"""Data value embeddings against those of dattri, on one training of plain descent in mini-batches."""

import pytest
import torch
from torch import nn
from torch.func import functional_call

from engine.models.network import Network
from engine.models.recipe import Recipe
from engine.problems import ModuleProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

SCORING = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"}, "dvemb")


def build():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


@pytest.fixture(scope="module")
def problem():
    torch.manual_seed(0)
    x, queries = torch.randn(40, 6), torch.randn(5, 6)
    return ModuleProblem(build(), x, torch.arange(40) % 3, queries, torch.arange(5) % 3, build=build, dtype="float64",
                         recipe=Recipe(epochs=4, batch_size=8, learning_rate=0.3))


def test_data_value_embeddings_are_those_of_dattri(problem):
    """dattri scores ⟨∇ℓ(q), embedding⟩, the rise of the query's loss that an example's own term of a batch's mean
    prevents; with B = −ℓ and w_k = 1 + nα that is dB/dα/n."""
    dvemb = pytest.importorskip("dattri.algorithm.dvemb", reason="dattri is not installed: see requirements-bench.txt")
    task = pytest.importorskip("dattri.task")
    from engine.basics.options import Options
    from engine.exact.replay import cached_run

    run, network = cached_run(problem, problem.seed, Options())
    module = build().double()

    def loss(parameters, data):
        inputs, label = data
        return nn.functional.cross_entropy(functional_call(module, parameters, inputs.unsqueeze(0)),
                                           label.unsqueeze(0))

    theirs = dvemb.DVEmbAttributor(task.AttributionTask(loss_func=loss, model=module,
                                                        checkpoints=module.state_dict()))
    states = sorted(run.points.backwards(Options().check), key=lambda state: state[0])
    for (_, (theta, *_)), step in zip(states, run.steps.all, strict=True):
        _set(network, module, theta)
        epoch = (step.count - 1) // 5
        theirs.cache_gradients(epoch, (problem.x[step.rows], problem.y[step.rows]), step.rows, step.rate)
    theirs.cache()
    _set(network, module, run.end)
    queries = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(problem.queries, problem.query_labels), 5)
    expected = problem.n * theirs.attribute(queries).T
    found = torch.as_tensor(compute(problem, [SCORING])[0].values)
    assert torch.allclose(found, expected.double(), rtol=1e-6, atol=1e-8)


def _set(network: Network, module: nn.Module, theta: torch.Tensor) -> None:
    with torch.no_grad():
        for name, value in network.unflatten(theta).items():
            module.get_parameter(name).copy_(value)
