"""Passes over records of a random model of SmolLM2-135M's shape, in a process of its own.

    python -m tests.benchmarks.language_memory train|cache RECORDS TOKENS FOLDER [full|mixed [DEVICE]]

prints peak memory in GiB, processor seconds of the passes (all threads; a busy machine does not change them), wall
seconds, and the size of the cache in GiB. `cache` needs what `train` left. Batches hold 8 records, and 32 on a GPU.
"""

import os
import sys
import time
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.basics.resident import peak_resident
from engine.models.causal import lora
from engine.models.causal.encoding import Encoded
from engine.models.causal.narrow import narrow_matrices, ready_passes
from tests.engine.tiny import tokenizer

SHAPE = {"vocab_size": 49_152, "hidden_size": 576, "intermediate_size": 1_536, "num_hidden_layers": 30,
         "num_attention_heads": 9, "num_key_value_heads": 3, "tie_word_embeddings": True}


def attribution(n: int, tokens: int, folder: str, shape=SHAPE, precision: str = "full", device: str = "cpu"
                ) -> Attribution:
    """An attribution of n random records of `tokens` tokens, the second half of each being its response."""
    os.environ["WHICHFLUENCE_HOME"] = folder
    setting = Setting.parse({"model": "random", "task": {}, "recipe": {
        "checkpoints": 1, "precision": precision, "batch": 8 if device == "cpu" else 32},
                             "projection": {"dimension": 4096}})
    torch.manual_seed(0)
    found = Attribution(setting, 0, device)
    base = LlamaForCausalLM(LlamaConfig(**shape))
    base.config.use_cache = False
    if device != "cpu":
        ready_passes(base.to(device, torch.bfloat16))
    elif found.passes.narrow:
        narrow_matrices(base)
    model = lora.attach(base, setting.recipe)
    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(10, shape["vocab_size"], (n, tokens), generator=draw).tolist()
    half = tokens // 2
    encoded = [Encoded(tuple(row), half, tuple(range(half, tokens - 4)), tokens - 2, (3, 4), 0) for row in ids]
    found.__dict__ |= {"_both": (model, tokenizer()), "encoded": encoded, "train_records": range(n),
                       "identity": {"random": [n, tokens]}}
    return found


def main(mode: str, n: int, tokens: int, folder: str, precision: str = "full", device: str = "cpu") -> None:
    found = attribution(n, tokens, folder, precision=precision, device=device)
    found.points if mode == "cache" else None  # noqa: B018 - read before the clock runs
    size, start, spent = 0, time.perf_counter(), time.process_time()
    if mode == "train":
        found.train()
    else:
        size = found.record_cache(found.points[0]).size
    spent, seconds = time.process_time() - spent, time.perf_counter() - start
    print(peak_resident() / 2**30, spent, seconds, size / 2**30)


if __name__ == "__main__":
    mode, n, tokens, folder, *precision = sys.argv[1:]
    main(mode, int(n), int(tokens), str(Path(folder)), *precision)
