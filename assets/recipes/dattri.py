"""Influence functions of dattri: how the optimum starts to move as the weight of an example grows, by its Hessian
and conjugate gradients."""

import numpy as np
import torch
from dattri.algorithm.influence_function import IFAttributorCG
from dattri.task import AttributionTask
from torch import nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset, TensorDataset

# problem


def loss(weights, batch):
    return cross_entropy(functional_call(module, weights, batch[0]), batch[1])


task = AttributionTask(loss_func=loss, model=module, checkpoints=module.state_dict())
attributor = IFAttributorCG(task, layer_name=parameters, max_iter=200, tol=1e-4, regularization=damping)
attributor.cache(DataLoader(train, len(train)))  # one batch, whose mean loss has the Hessian that is meant
scores = attributor.attribute(DataLoader(Subset(train, candidates), 64), DataLoader(queries, 8))
np.savez("dattri.npz", scores=scores.T.detach().numpy(), candidates=candidates)  # (queries, candidates)
