"""TracIn of captum with one checkpoint: how far one more step on an example goes along each query's own gradient."""

import numpy as np
import torch
from captum.influence import TracInCP
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import Subset, TensorDataset

# problem

torch.save(module.state_dict(), "checkpoint.pt")


def load(model, path):
    model.load_state_dict(torch.load(path, weights_only=True))
    return 1.0  # the learning rate there


tracin = TracInCP(module, Subset(train, candidates), ["checkpoint.pt"], load, layers=layers,
                  loss_fn=lambda logits, labels: cross_entropy(logits, labels, reduction="none"), batch_size=64)
scores = tracin.influence(queries.tensors)  # (queries, candidates)
np.savez("captum.npz", scores=scores.detach().numpy(), candidates=candidates)
