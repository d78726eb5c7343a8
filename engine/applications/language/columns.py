"""The columns of cached gradients as what estimators read at a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from engine.applications.language.cache import Cache
from engine.applications.language.projection import draw_names
from engine.basics.mapped import Rows
from engine.gradients.cached import CachedCheckpoint
from engine.gradients.updates import Updates
from engine.models.causal.finetune import FineTuneCheckpoint

Columns = Mapping[str, np.ndarray] | Cache
"""Arrays by the names of their columns."""


def with_updates(cache: Cache, point: FineTuneCheckpoint, sizes: Mapping[str, int], moving: np.ndarray
                 ) -> dict[str, Rows]:
    """The columns of whole gradients, and Adam's updates, which follow from them. sizes: parameters in the order of a
    row. moving (n,) bool: which records have a token that is scored; others make no step."""
    first, second = (torch.cat([own[name].flatten() for name in sizes]) for own in point.moments())
    columns: dict[str, Rows] = {name: cache[name] for name in cache.columns}
    return columns | {"conditioned": Updates(columns["gradient"], first, second, point.step, moving)}


def point_of(weight: float, own: Columns | Mapping[str, Rows], queries: Columns, behaviors: Sequence[str], draw: int
             ) -> CachedCheckpoint:
    """What estimators read at one checkpoint, under one of the draws of the projection."""
    return CachedCheckpoint(weight, np.asarray(own[draw_names("gradient")[draw]]), own[draw_names("conditioned")[draw]],
                            {name: queries[draw_names(name)[draw]] for name in behaviors})
