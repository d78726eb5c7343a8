r"""Gradients of adapters on a base that is divided over processes (FSDP), for a model that no single device holds.

Every process holds its part of the frozen layers, whole adapters, embeddings and head, and gathers one layer at a time
(`fully_shard`); quantised weights are not divided. It computes the gradients of its own records; of the queries all
hold those of all. The scores are what one more step on a record is to first order, with a step size of 1,

    s_qk = ⟨∇ log p(q), ∇ log p(z_k)⟩,    log p: of the response, the mean over its tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn

from engine.applications.language import gradients
from engine.models.causal import lora, passes
from engine.models.causal.encoding import Encoded, Encoder
from engine.models.causal.readouts import mean_response_likelihood

Received = Callable[[list[int], str, Tensor], None]
"""(rows, parameter, their gradients (b, …)) of a part of the records."""


def divide(model: Any, device: str = "cpu") -> Any:
    """The model with every layer of its longest list of layers divided over the processes, but for adapters."""
    from torch.distributed.fsdp import fully_shard

    mesh = distributed.init_device_mesh(device, (distributed.get_world_size(),))
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)]
    for layer in max(lists, key=lambda own: sum(parameter.numel() for parameter in own.parameters())):
        whole = {parameter for name, parameter in layer.named_parameters() if lora.short(name) != name}
        fully_shard(layer, mesh=mesh, ignored_params=whole)
    return model.to(device)


def own_gradients(model: Any, encoder: Encoder, encoded: Sequence[Encoded], received: Received, size: int = 8) -> None:
    """∇ log p of this process's records, parameter by parameter: of every w-th batch, w the number of processes. All
    gather a layer together, so each makes as many passes; those beyond its own batches are not received."""
    rank, world = distributed.get_rank(), distributed.get_world_size()
    device = passes.device_of(model)
    batches = list(passes.batches(encoded, size, device))
    with gradients.tapped(model) as tap:
        for start in range(0, len(batches), world):
            mine = start + rank < len(batches)
            rows = batches[start + rank] if mine else batches[start]
            batch = encoder.batch([encoded[row] for row in rows]).to(device)
            gradients.record_gradients(tap, batch, [mean_response_likelihood], [
                (lambda name, own, rows=rows: received(rows, name, own)) if mine else lambda name, own: None])


def scores(model: Any, encoder: Encoder, train: Sequence[Encoded], queries: Sequence[Encoded]) -> np.ndarray:
    """(queries, records), the same on every process. A process holds the queries' gradients and those of a batch."""
    device = passes.device_of(model)
    named = {name: torch.zeros(len(queries), own.numel(), device=device) for name, own in lora.trained(model).items()}
    products = torch.zeros(len(queries), len(train), device=device)

    def keep(rows: list[int], name: str, own: Tensor) -> None:
        named[name][rows] = own.flatten(1)

    def multiply(rows: list[int], name: str, own: Tensor) -> None:
        products[:, rows] += named[name] @ own.flatten(1).T

    own_gradients(model, encoder, queries, keep)
    for value in named.values():
        distributed.all_reduce(value)
    own_gradients(model, encoder, train, multiply)
    distributed.all_reduce(products)
    return products.cpu().numpy()
