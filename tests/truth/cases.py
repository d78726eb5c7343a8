"""Three small models on random data: a tanh MLP, a CNN with max-pooling and a Llama that reads its last token.

A case is a problem, in single or double precision, and the same in plain float64 (`tests.truth.naive.Naive`).
"""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaModel

from engine.models.recipe import Recipe
from engine.problems import ModuleProblem
from engine.problems.module import Checkpoint

N, QUERIES, CLASSES, SEED, L2 = 10, 4, 3, 5, 0.02
RECIPE = Recipe(epochs=3, batch_size=4, learning_rate=0.1, momentum=0.5)
PRECISIONS = ("float32", "float64")


class LastToken(nn.Module):
    """A Llama of one layer whose last token is classified; token numbers come as floating-point numbers."""

    def __init__(self) -> None:
        super().__init__()
        config = LlamaConfig(vocab_size=5, hidden_size=4, intermediate_size=6, num_hidden_layers=1,
                             num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=8,
                             attn_implementation="eager", use_cache=False)
        self.body, self.head = LlamaModel(config), nn.Linear(4, CLASSES)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(tokens.long()).last_hidden_state[:, -1])


def tanh():
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, CLASSES))


def pooled():
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, CLASSES))


MODELS = {"tanh": (tanh, lambda rows, g: torch.randn(rows, 4, generator=g)),
          "max-pool": (pooled, lambda rows, g: torch.randn(rows, 1, 6, 6, generator=g)),
          "llama": (LastToken, lambda rows, g: torch.randint(5, (rows, 4), generator=g).float())}
LISTED = ["tanh", "max-pool", pytest.param("llama", marks=pytest.mark.slow)]


def problem(name: str, precision: str, moved=None, **options) -> ModuleProblem:
    """Initial weights made a little larger, so that nothing is close to linear; two checkpoints beside them.

    moved: what becomes of the inputs, in float64.
    """
    build, draw = MODELS[name]
    torch.manual_seed(SEED)
    module, generator = build(), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    x = draw(N + QUERIES, generator)
    x = x if moved is None else moved(x.double())
    y = torch.arange(N + QUERIES) % CLASSES
    found = ModuleProblem(module, x[:N], y[:N], x[N:], y[N:], [7, 0, 3], l2=L2, recipe=RECIPE, build=build, seed=SEED,
                          dtype=precision, **options)
    found.checkpoints = tuple(Checkpoint(scale * found.theta, rate) for scale, rate in ((0.7, 0.2), (0.9, 0.1)))
    return found
