"""Attacks on a training set of pictures: what is planted, and what triggers it at test time.

    patch          pictures of other classes with a patch and the target's label (Gu et al., "BadNets", 2017)
    right labels   pictures of the target itself, moved until networks trained on clean data call them something else,
                   and marked in their corners: only the mark speaks for the label, which stays right (Turner et al.,
                   "Label-Consistent Backdoor Attacks", 2019)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from engine.data import poisoned
from engine.data.poisoned import Poisoned

ENSEMBLE, STEPS, RADIUS = 3, 40, 0.5
"""Networks that pictures are moved against, gradient steps, and how far a pixel may move, of a range of 1."""
Trained = Callable[[int], nn.Module]
"""Number -> a network trained on the clean pictures, of a seed of its own."""


@dataclass(frozen=True)
class Attack:
    """plant: pictures (n, h, w), labels (n,), number of poisons, target, seed, networks -> the poisoned set. trigger:
    pictures -> the same with what the attack reacts to."""

    plant: Callable[[np.ndarray, np.ndarray, int, int, int, Trained], Poisoned]
    trigger: Callable[[np.ndarray], np.ndarray]


def inputs(pictures: np.ndarray) -> Tensor:
    """(n, 1, h, w) in 0 … 1 of (n, h, w) in 0 … 255."""
    return torch.tensor(pictures, dtype=torch.float32)[:, None] / 255


def _patch(pictures: np.ndarray, labels: np.ndarray, count: int, target: int, seed: int, trained: Trained) -> Poisoned:
    return poisoned.patch(pictures, labels, count, target, seed)


def _right_labels(pictures: np.ndarray, labels: np.ndarray, count: int, target: int, seed: int, trained: Trained
                  ) -> Poisoned:
    rows = poisoned.rows(labels == target, count, seed)
    modules = [trained(number).eval() for number in range(ENSEMBLE)]
    device = next(modules[0].parameters()).device
    x = moved(modules, inputs(pictures[rows]).to(device), torch.tensor(labels[rows], device=device), seed)
    marked = pictures.copy()
    marked[rows] = poisoned.cornered((x[:, 0] * 255).round().cpu().numpy().astype(pictures.dtype))
    return Poisoned(marked, labels, np.isin(np.arange(len(labels)), rows))


def moved(modules: Sequence[nn.Module], x: Tensor, y: Tensor, seed: int, radius: float = RADIUS) -> Tensor:
    r"""Inputs x (b, …) in 0 … 1 that the modules no longer call y (b,): projected gradient steps from a random start,

        δ ← clip(δ + (2.5 r / STEPS) · sign ∇_δ Σ_modules ℓ(f(clip(x + δ, 0, 1)), y), −r, r)

    r is the radius, ℓ the cross-entropy (Madry et al., "Towards Deep Learning Models Resistant to Adversarial Attacks",
    2018).
    """
    delta = (2 * torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) - 1).to(x.device) * radius
    for _ in range(STEPS):
        delta.requires_grad_()
        loss = torch.stack([nn.functional.cross_entropy(module((x + delta).clamp(0, 1)), y, reduction="sum")
                            for module in modules]).sum()
        [gradient] = torch.autograd.grad(loss, delta)
        delta = (delta.detach() + 2.5 * radius / STEPS * gradient.sign()).clamp(-radius, radius)
    return (x + delta).clamp(0, 1).detach()


ATTACKS = {"patch": Attack(_patch, poisoned.stamped), "right labels": Attack(_right_labels, poisoned.cornered)}
