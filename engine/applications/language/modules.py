r"""A score of an attribution taken apart into the adapted layers of the model, and into their attention heads.

A score that is linear in a record's gradient is a sum over parameters p, and so over whatever they are grouped by:

    score(z_k) = Σ_c ⟨d_c, ∇ℓ(z_k; θ_c)⟩ = Σ_p Σ_c d_{c,p} ∂ℓ/∂θ_p,      d_c = Rᵀ u_c,

with Adam's update at length one in the gradient's place for LESS. Of an adapter B A the rows of B belong to heads where
its layer makes queries, keys or values, and the columns of A where it reads what heads have made; the other of the two
is one matrix for all heads, and so no head's: its part has the head −1, as all of a layer without heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from engine.applications.language import tokens
from engine.applications.language.attribution import Attribution
from engine.applications.language.methods import pairs
from engine.applications.language.projection import Adam
from engine.applications.language.shading import direction, update_lengths
from engine.gradients.cached import CachedFeatures
from engine.models.causal import lora, passes

SHARED = -1
"""The head of what no head has for itself."""
HEAD_WRITERS, HEAD_READERS = ("q_proj", "k_proj", "v_proj"), ("o_proj", "out_proj")
"""The last part of the names of layers that make queries, keys and values of heads, and of those that read heads."""


def by_module(run: Attribution, features: CachedFeatures, row: int, query: int | None = None,
              check: Callable[[], None] = lambda: None) -> pd.DataFrame:
    """estimator, behavior, record, layer, head, contribution: parts of a record's score for a query, by default of
    its mean score. Those of an estimator and a behavior add up to it."""
    totals: dict[tuple, float] = {}
    batch = run.encoder.batch([run.encoded[row]]).to(passes.device_of(run.model))
    config = run.model.config.get_text_config().to_dict()
    for index, point in enumerate(run.points):
        check()
        run.load(point)
        gradients = tokens.gradient(run.model, batch, run.setting.tokens, run.sizes)
        adam = Adam(*point.moments(), point.step)
        updates = {name: adam.update((name,), own.flatten(1)).view_as(own) for name, own in gradients.items()}
        length = float(update_lengths(features, index, [row])[0])
        for method, behavior in pairs(features.behaviors):
            u = None if method.undivided else method.directions(features, behavior, query).get(index)
            if u is None:
                continue
            terms, scale = (updates, 1 / length) if method.preconditioned else (gradients, 1.0)
            for (module, head), value in cells(direction(run, u), terms, config):
                key = method.name, behavior, row, module, head
                totals[key] = totals.get(key, 0.0) + scale * value
    return pd.DataFrame([(*key, value) for key, value in totals.items()],
                        columns=["estimator", "behavior", "record", "layer", "head", "contribution"])


def cells(towards: Mapping[str, Tensor], gradients: Mapping[str, Tensor], config: Mapping[str, Any]
          ) -> Iterator[tuple[tuple[str, int], float]]:
    """((module, head), part of ⟨d, ∇⟩) for each adapter's matrix; gradients (1, …) of one record."""
    for name, own in gradients.items():
        product = (towards[name].to(own.device).double() * own[0].double())
        module, _, side = lora.plain(name).rpartition(".")
        heads = heads_of(module, side, product.shape, config)
        if heads:
            product = (product if side == "b" else product.T).reshape(heads, -1)
        for head, value in enumerate(product.reshape(max(1, heads), -1).sum(1).tolist()):
            yield (module, head if heads else SHARED), value


def heads_of(module: str, side: str, shape: torch.Size, config: Mapping[str, Any]) -> int:
    """Into how many heads the rows of B or the columns of A fall, one after another; 0 where they belong to none."""
    kind, heads = module.rpartition(".")[2], config.get("num_attention_heads") or 1
    width = config.get("head_dim") or config["hidden_size"] // heads
    own = heads if kind in ("q_proj", *HEAD_READERS) else config.get("num_key_value_heads") or heads
    divided = (shape[0] if side == "b" and kind in HEAD_WRITERS else
               shape[1] if side == "a" and kind in HEAD_READERS else 0)
    return own if divided == own * width else 0


def parts(table: pd.DataFrame, method: str, behavior: str) -> pd.DataFrame:
    """layer, head, contribution of one estimator and behavior, the largest first, of the table that `by_module`
    returns."""
    own = table[(table["estimator"] == method) & (table["behavior"] == behavior)]
    order = np.argsort(-own["contribution"].abs(), kind="stable")
    return own.iloc[order][["layer", "head", "contribution"]]
