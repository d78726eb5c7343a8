"""Influence functions of pyDVL: how the optimum starts to move as the weight of an example grows, by its Hessian and
conjugate gradients."""

import numpy as np
import torch
from pydvl.influence import InfluenceMode
from pydvl.influence.torch import CgInfluence
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

# problem

for name, parameter in module.named_parameters():
    parameter.requires_grad_(name in parameters)
influence = CgInfluence(module, cross_entropy, regularization=damping, rtol=1e-4, maxiter=200,
                        solve_simultaneously=True)
influence = influence.fit(DataLoader(train, len(train)))  # one batch: several would count alike, whatever their sizes
x, y = train.tensors
scores = influence.influences(*queries.tensors, x[candidates], y[candidates], mode=InfluenceMode.Up)
np.savez("pydvl.npz", scores=scores.detach().numpy(), candidates=candidates)  # (queries, candidates)
