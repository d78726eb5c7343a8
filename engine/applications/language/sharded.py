r"""Gradients of adapters on a base that is divided over processes (FSDP), for a model that no single device holds.

    torchrun --nproc-per-node 2 -m engine.applications.language.sharded --model ADAPTERS --train train.jsonl \
        --queries queries.jsonl --out scores.npz

Every process holds its part of the frozen layers, whole adapters, embeddings and head, and gathers one layer at a time
(`fully_shard`); quantised weights are not divided. It computes the gradients of its own records; of the queries all
hold those of all. The scores are what one more step on a record is to first order, with a step size of 1,

    s_qk = ⟨∇ log p(q), ∇ log p(z_k)⟩,    log p: of the response, the mean over its tokens.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn

from engine.applications.language import gradients
from engine.basics.errors import InvalidInput, WhichfluenceError
from engine.basics.files import write_together
from engine.data.records import read_jsonl
from engine.models.causal import loading, lora, passes
from engine.models.causal.encoding import Encoded, Encoder
from engine.models.causal.readouts import mean_response_likelihood

CLAIM = {"behavior": "response_loss", "intervention": {"kind": "add_occurrence"},
         "process": {"kind": "one_step", "eta": 1.0}}
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


def main() -> None:
    """Scores of a folder of adapters as `bring` reads them, with the claim beside them; written by the first process.
    What is wrong is said in one sentence, with exit code 2."""
    parser = argparse.ArgumentParser(description="Scores by gradients of adapters on a base that is divided.")
    for name in ("--model", "--train", "--queries", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    chosen = parser.parse_args()
    distributed.init_process_group("nccl" if chosen.device == "cuda" else "gloo")
    try:
        found = _scores(chosen.model, chosen.train, chosen.queries, chosen.device)
        if distributed.get_rank() == 0:
            out = Path(chosen.out)
            write_together({out: lambda file: np.savez(file, scores=found, candidates=np.arange(found.shape[1])),
                            out.with_name("claim.json"): json.dumps(CLAIM)})
    except WhichfluenceError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    finally:
        distributed.destroy_process_group()


def _scores(name: str, train: str, queries: str, device: str) -> np.ndarray:
    """Of files. Raises as `loading.load` and `read_jsonl`, and `InvalidInput` for a model without adapters."""
    loading.check(name, lora=True)
    if device == "cuda":
        torch.cuda.set_device(distributed.get_node_local_rank())
    model, tokenizer = loading.load(name)
    if not lora.layers(model):
        raise InvalidInput(f"`{name}` has no adapters of LoRA; name a folder of them, saved with PEFT.")
    encoder = Encoder(tokenizer, known=loading.vocabulary(model))
    encoded = [[encoder.encode(record) for record in read_jsonl(path)] for path in (train, queries)]
    return scores(divide(model, device), encoder, *encoded)


if __name__ == "__main__":
    main()
