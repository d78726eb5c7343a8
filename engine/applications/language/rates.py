"""Operations a second of a machine in the passes that `at_scale` counts, timed with a model that fits there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from engine.applications.language import gradients
from engine.applications.language.at_scale import backward
from engine.data.records import Record
from engine.models.causal import loading, lora
from engine.models.causal.encoding import Batch, Encoder
from engine.models.causal.readouts import mean_response_likelihood
from engine.models.causal.recipe import FineTuning

RECORDS, REPEATS = 8, 3
Clock = Callable[[], float]


def measured_rate(name: str, tokens: int, device: str = "cpu", clock: Clock = time.perf_counter) -> float:
    """Operations a second of gradients of records of about so many tokens, at most what the model reads at once: the
    best of three. Raises as `loading.load`."""
    model, encoder = adapted(name, device)
    limit = model.config.get_text_config().to_dict().get("max_position_embeddings", 2 * tokens)
    batch = records(encoder, RECORDS, min(tokens, limit // 2))
    return int(batch.mask.sum()) * backward(*sizes(model)) / seconds(model, batch, clock)


def adapted(name: str, device: str) -> tuple[Any, Encoder]:
    """A model with adapters of the default recipe, where it has none, and what encodes its records."""
    model, tokenizer = loading.load(name, device)
    model = model if lora.layers(model) else lora.attach(model, FineTuning())
    return model, Encoder(tokenizer, known=loading.vocabulary(model))


def records(encoder: Encoder, count: int, words: int) -> Batch:
    """So many records whose response has so many words."""
    record = Record(prompt="Which?", response=" ".join(["one"] * words))
    return encoder.batch([encoder.encode(record)] * count)


def sizes(model: Any) -> tuple[float, float]:
    """Weights that a token is multiplied with: those of linear layers, and those of adapters."""
    frozen = sum(layer.weight.numel() for name, layer in model.named_modules()
                 if isinstance(layer, nn.Linear) and "lora" not in name)
    return float(frozen), float(sum(one.numel() for one in lora.trained(model).values()))


def seconds(model: Any, batch: Batch, clock: Clock = time.perf_counter) -> float:
    """Of the gradients of a batch of records, the least of `REPEATS` after one that is not timed."""
    device, spent = next(model.parameters()).device, []
    batch = batch.to(device)
    with gradients.tapped(model) as tap:
        for _ in range(1 + REPEATS):
            started = clock()
            gradients.record_gradients(tap, batch, [mean_response_likelihood], [lambda name, rows: None])
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            spent.append(clock() - started)
    return min(spent[1:])
