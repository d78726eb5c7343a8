r"""Scores by gradients of adapters on a base that is divided over processes, started by `torchrun` in each of them.

    torchrun --nproc-per-node 2 -m engine.cli.sharded --model ADAPTERS --train train.jsonl --queries queries.jsonl \
        --out scores.npz
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import distributed

from engine.applications.language import sharded
from engine.basics.errors import InvalidInput, WhichfluenceError
from engine.basics.files import write_together
from engine.data.records import read_jsonl
from engine.models.causal import loading, lora
from engine.models.causal.encoding import Encoder

CLAIM = {"behavior": "response_loss", "intervention": {"kind": "add_occurrence"},
         "process": {"kind": "one_step", "eta": 1.0}}


def parser() -> argparse.ArgumentParser:
    """Of the options of one process."""
    options = argparse.ArgumentParser(description="Gradient scores of adapters on a sharded base model.")
    for name in ("--model", "--train", "--queries", "--out"):
        options.add_argument(name, required=True)
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    return options


def main() -> None:
    """Scores of a folder of adapters as `bring` reads them, with the claim beside them; written by the first process.
    What is wrong is said in one sentence, with exit code 2."""
    chosen = parser().parse_args()
    distributed.init_process_group("nccl" if chosen.device == "cuda" else "gloo")
    try:
        values = _scores(chosen.model, chosen.train, chosen.queries, chosen.device)
        if distributed.get_rank() == 0:
            out = Path(chosen.out)
            write_together({out: lambda file: np.savez(file, scores=values, candidates=np.arange(values.shape[1])),
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
    return sharded.scores(sharded.divide(model, device), encoder, *encoded)


if __name__ == "__main__":
    main()
