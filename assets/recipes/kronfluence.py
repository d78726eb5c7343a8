"""EK-FAC of kronfluence: how the optimum starts to move as the weight of an example grows, by its Fisher matrix."""

import tempfile

import numpy as np
import torch
from kronfluence.analyzer import Analyzer, prepare_model
from kronfluence.arguments import ScoreArguments
from kronfluence.task import Task
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import Subset, TensorDataset

# problem


class Classification(Task):
    def compute_train_loss(self, batch, model, sample=False):
        logits = model(batch[0])
        labels = logits.detach().softmax(-1).multinomial(1)[:, 0] if sample else batch[1]
        return cross_entropy(logits, labels, reduction="sum")

    def compute_measurement(self, batch, model):
        return cross_entropy(model(batch[0]), batch[1], reduction="sum")

    def get_influence_tracked_modules(self):
        return layers


task = Classification()
with tempfile.TemporaryDirectory() as folder:
    analyzer = Analyzer("study", prepare_model(module, task), task, cpu=True, output_dir=folder)
    analyzer.fit_all_factors("ekfac", train, per_device_batch_size=64)
    analyzer.compute_pairwise_scores("pairwise", "ekfac", queries, Subset(train, candidates),
                                     per_device_query_batch_size=64, per_device_train_batch_size=64,
                                     score_args=ScoreArguments(damping_factor=damping))
    scores = analyzer.load_pairwise_scores("pairwise")["all_modules"]  # (queries, candidates)
np.savez("kronfluence.npz", scores=scores.numpy(), candidates=candidates)
