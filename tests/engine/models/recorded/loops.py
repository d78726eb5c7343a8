"""A user's own training loop, with and without a recorder."""

from contextlib import nullcontext

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from engine.models.recorded import Recorder

N, CLASSES = 40, 3
drawing = torch.Generator().manual_seed(0)
X, Y = torch.randn(N, 1, 6, 6, generator=drawing), torch.arange(N) % CLASSES

MODELS = {
    "softmax": lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, CLASSES)),
    "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, CLASSES)),
    "cnn": lambda: nn.Sequential(nn.Conv2d(1, 3, 3), nn.GELU(), nn.Flatten(), nn.Linear(48, CLASSES)),
}
OPTIMIZERS = {
    "SGD": lambda own: torch.optim.SGD(own, 0.1),
    "momentum": lambda own: torch.optim.SGD(own, 0.05, momentum=0.9, weight_decay=1e-2),
    "Nesterov": lambda own: torch.optim.SGD(own, 0.05, momentum=0.9, weight_decay=1e-2, nesterov=True),
    "Adam": lambda own: torch.optim.Adam(own, 1e-2, weight_decay=1e-2),
    "AdamW": lambda own: torch.optim.AdamW(own, 1e-2, weight_decay=1e-1, betas=(0.8, 0.9)),
}


def loss_of(logits, y):
    return cross_entropy(logits, y)


def trained(model="mlp", optimizer="AdamW", folder=None, x=X, y=Y, loss=loss_of, around=None, weights=None, **options):
    """The module at the end; recorded into `folder` where one is given. around: called with (step, module)."""
    torch.manual_seed(1)
    module = MODELS[model]().to(x.dtype)
    made = OPTIMIZERS[optimizer](module.parameters())
    rates = torch.optim.lr_scheduler.ExponentialLR(made, 0.95)
    recorder = Recorder(folder, module, made, **{"every": 4, **options}) if folder else None
    with recorder or nullcontext():
        for step, rows in enumerate(rows for _ in range(3) for rows in torch.randperm(len(y)).split(16)):
            if recorder:
                recorder.batch(x[rows], y[rows])
            found = loss(module(x[rows]), y[rows]) if weights is None else (
                weights[rows] * cross_entropy(module(x[rows]), y[rows], reduction="none")).mean()
            made.zero_grad()
            found.backward()
            made.step()
            rates.step()
            if around:
                around(step, module)
    return module


def flat(module):
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])
