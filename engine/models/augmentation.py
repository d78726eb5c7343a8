r"""Pictures as a training reads them in an epoch: shifted within a frame of zeros, and mirrored from left to right.

    x_i[c, v, u]  ->  x_i[c, v + s_i − p, u' + t_i − p],    u' = W − 1 − u if f_i else u,    0 outside the picture

with s_i, t_i uniform in 0 … 2p for a frame of p pixels and f_i a fair coin, as torchvision's `RandomCrop(size, p)` with
`RandomHorizontalFlip` after it. They depend on the seed, the epoch and the row alone: whatever is done to another
example, or to the label or the weight of this one, a counterfactual training reads the same pictures.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from engine.basics.errors import InvalidInput

STREAM = 7
"""Keeps its draws apart from others of the same seed."""


def check_pictures(shape: tuple[int, ...]) -> None:
    """Raises `InvalidInput` where inputs of this shape are no pictures (channels, height, width)."""
    if len(shape) != 3:
        raise InvalidInput(f"Inputs of shape {tuple(shape)} are not images, and only images can be mirrored and "
                           "shifted; leave out `flip` and `crop`.")


@lru_cache(maxsize=4)
def draws(n: int, flip: bool, crop: int, seed: int, epoch: int) -> tuple[Tensor, Tensor]:
    """(s, t) (n, 2) and f (n,) of an epoch; the same on every machine."""
    generator = np.random.default_rng([STREAM, seed, epoch])
    shifts, mirrored = generator.integers(0, 2 * crop + 1, (n, 2)), generator.random(n) < 0.5
    return torch.from_numpy(shifts), torch.from_numpy(mirrored & flip)


def augmented(x: Tensor, rows: Tensor, *, flip: bool, crop: int, seed: int, epoch: int) -> Tensor:
    """The pictures of rows (b,) of x (n, C, H, W) as an epoch reads them. Raises as `check_pictures` does."""
    check_pictures(tuple(x.shape[1:]))
    shifts, mirrored = (sampled[rows.cpu()].to(x.device) for sampled in draws(len(x), flip, crop, seed, epoch))
    height, width = x.shape[2:]
    across = torch.arange(width, device=x.device)
    across = torch.where(mirrored[:, None], width - 1 - across, across) + shifts[:, 1:]  # (b, W)
    down = torch.arange(height, device=x.device) + shifts[:, :1]  # (b, H)
    framed = pad(x[rows], (crop, crop, crop, crop))
    picture = torch.arange(len(rows), device=x.device)[:, None, None]
    return framed[picture, :, down[:, :, None], across[:, None]].permute(0, 3, 1, 2).contiguous()
