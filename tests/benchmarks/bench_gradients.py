"""The network and pictures of the gradient measurements, and the two libraries that they are held against.

Both libraries get whole batches from their data loaders, so that no time goes into putting pictures together one by
one: captum's TracInCP with its batched per-example gradients, at one checkpoint with learning rate 1, and kronfluence
with the identity in place of a Hessian.
"""

import copy
import tempfile

import torch
from captum.influence import TracInCP
from kronfluence.analyzer import Analyzer, prepare_model
from kronfluence.arguments import FactorArguments, ScoreArguments
from kronfluence.task import Task
from kronfluence.utils.dataset import DataLoaderKwargs
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

from engine.models.cnn import cnn
from engine.problems.module import ModuleProblem
from tests.benchmarks.bench_problems import fashion


def pictures(n, queries, dtype="float32"):
    """(problem, name): the CNN of the paper's Appendix A after one epoch on n pictures of 28 × 28."""
    data, name = fashion(n, queries, 1)
    x, q = (t.reshape(-1, 1, 28, 28).float() for t in (data.x, data.queries))
    torch.manual_seed(0)
    module = cnn((1, 28, 28), 10)
    step = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    for rows in torch.randperm(n)[:5_000].split(50):
        step.zero_grad()
        cross_entropy(module(x[rows]), data.y[rows]).backward()
        step.step()
    return ModuleProblem(module, x, data.y, q, data.query_labels, dtype=dtype), name


class Batches(Dataset):
    """Pictures and labels, whole batches at a time."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, row):
        return self.x[row], self.y[row]

    def __getitems__(self, rows):
        return self.x[rows], self.y[rows]


def as_it_is(batch):
    return batch


def captum(problem, rows, batch, aggregate=False):
    """() -> ⟨∇ℓ_q, ∇ℓ_k⟩, (m, b), or its sum over queries, (1, b)."""
    tracin = TracInCP(copy.deepcopy(problem.network.module).requires_grad_(True),
                      DataLoader(Batches(problem.x[rows], problem.y[rows]), batch_size=batch, collate_fn=as_it_is),
                      ["now"], checkpoints_load_func=lambda *_: 1.0, loss_fn=nn.CrossEntropyLoss(reduction="sum"),
                      sample_wise_grads_per_batch=True)
    return lambda: tracin.influence((problem.queries, problem.query_labels), aggregate=aggregate).detach()


class Losses(Task):
    def compute_train_loss(self, batch, model, sample=False):
        return cross_entropy(model(batch[0]), batch[1], reduction="sum")

    def compute_measurement(self, batch, model):
        return self.compute_train_loss(batch, model)


def kronfluence(problem, rows, batch, aggregate=False):
    """() -> the same as `captum`."""
    task = Losses()
    model = prepare_model(copy.deepcopy(problem.network.module), task)
    folder = tempfile.TemporaryDirectory(prefix="whichfluence-bench-")
    analyzer = Analyzer("bench", model, task, cpu=True, disable_tqdm=True, log_level=50, output_dir=folder.name)
    train, loading = Batches(problem.x[rows], problem.y[rows]), DataLoaderKwargs(collate_fn=as_it_is)
    analyzer.fit_all_factors("identity", train, per_device_batch_size=batch, dataloader_kwargs=loading,
                             factor_args=FactorArguments(strategy="identity"))

    def scores(_folder=folder):
        analyzer.compute_pairwise_scores(
            "scores", "identity", Batches(problem.queries, problem.query_labels), train, len(problem.queries), batch,
            score_args=ScoreArguments(aggregate_query_gradients=aggregate), dataloader_kwargs=loading,
            overwrite_output_dir=True)
        return analyzer.load_pairwise_scores("scores")["all_modules"]

    return scores
