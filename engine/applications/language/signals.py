r"""Signal-augmented RepSim at a layer (Table A-17), by `engine.estimators.signals`.

The states h of a layer are averaged, and the signals s_ℓ = ∂ℓ/∂h and s_B = ∂B/∂h summed, over the positions that
predict what the behavior reads: the answer letter, or the tokens of the explanation. Of a single signal the length
enters:

    + train      cos(h_q, h_k) ‖s_ℓ(k)‖           + behavior   cos(h_q, h_k) ‖s_B(q)‖
    + both      −cos(h_q, h_k) ⟨s_B(q), s_ℓ(k)⟩

`l2` scales every signal to length one. RepSim with a single l2 signal is therefore RepSim itself.

The code of the paper's authors reads it otherwise: signals are averaged over the positions too, a record's training
signal is minus its behavior signal, s_T := −s_B(k), and a single signal stands on both sides:

    + train      cos(h_q, h_k) ⟨s_T(q), s_T(k)⟩     + behavior   cos(h_q, h_k) ⟨s_B(q), s_B(k)⟩
    + both       cos(h_q, h_k) ⟨s_B(q), s_T(k)⟩

The first two are one score, and the third is its negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from engine.applications.language import gradients
from engine.estimators.signals import by_length
from engine.gradients.cached import normalise, products
from engine.models.causal import passes
from engine.models.causal.encoding import Batch, Encoded, Encoder

VARIANTS = (("none", "none"), ("train", "raw"), ("train", "l2"), ("behavior", "raw"), ("behavior", "l2"),
            ("both", "raw"), ("both", "l2"))


def positions(batch: Batch, span: str) -> Tensor:
    """Where the tokens of a span are predicted, (b, T) bool."""
    tail = batch.explanation if span == "explanation" else batch.answered
    mask = torch.zeros_like(batch.mask, dtype=torch.bool)
    mask[:, -tail.shape[1] - 1:-1] = tail
    return mask


def states_and_signals(model, encoder: Encoder, records: Sequence[Encoded], reader, span: str, layers: Sequence[int],
                       size: int = 8, check=lambda: None, progress=lambda done: None, *, as_authors: bool = False
                       ) -> tuple[np.ndarray, np.ndarray]:
    """(h, s), each (len(layers), n, d): states averaged and signals of `reader` summed over the span's positions.

    as_authors: signals are averaged too, and the last layer is read before the normalisation of its output.
    """
    config = model.config.get_text_config()
    values = np.empty((2, len(layers), len(records), config.hidden_size), dtype=np.float32)
    done, outputs = 0, list[Tensor]()
    with gradients.tapped(model), _collected(last_layer(model, config.num_hidden_layers), outputs):
        for rows, batch in passes.batched(model, encoder, records, size, check=check):
            outputs.clear()
            logits, states = passes.forward(model, batch, hidden=True)
            states = (*states[:-1], *outputs) if as_authors else states
            chosen = [states[layer] for layer in layers]
            slopes = torch.autograd.grad(reader(logits, batch).sum(), chosen)
            where = positions(batch, span)[..., None]
            for index, (state, slope) in enumerate(zip(chosen, slopes, strict=True)):
                weights = where.to(state.device)
                count = weights.sum(1).clamp_min(1)
                values[0, index, rows] = ((state.detach() * weights).sum(1) / count).float().cpu().numpy()
                total = (slope * weights).sum(1)
                values[1, index, rows] = (total / count if as_authors else total).float().cpu().numpy()
            done += len(rows)
            progress(done / len(records))
    return values[0], values[1]


def last_layer(model, depth: int) -> nn.Module:
    """The last of a model's `depth` layers."""
    return next(module[-1] for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) == depth)


@contextmanager
def _collected(layer: nn.Module, outputs: list[Tensor]) -> Iterator[None]:
    """Adds what the layer puts out, (b, T, d), to a list."""
    def hook(_module, _inputs, output) -> None:
        outputs.append(output if isinstance(output, Tensor) else output[0])

    handle = layer.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def score(signal: str, scale: str, h_query: np.ndarray, h: np.ndarray, s_query: np.ndarray,
          s: np.ndarray) -> np.ndarray:
    """(m, n) of one variant at one layer; h, s (n, d) of records, with s of their loss, and (m, d) of queries."""
    if scale == "l2":
        s_query, s = normalise(s_query), normalise(s)
    values = by_length(products(normalise(h_query), normalise(h))).by(
        s_query if signal in ("behavior", "both") else None, s if signal in ("train", "both") else None)
    return -values if signal == "both" else values


def score_as_authors(signal: str, scale: str, h_query: np.ndarray, h: np.ndarray, s_query: np.ndarray,
                     s: np.ndarray) -> np.ndarray:
    """(m, n) as the authors' code reads the variant, larger where a record harms; s (n, d), (m, d) of the behavior."""
    similarity = products(normalise(h_query), normalise(h))
    if signal == "none":
        return similarity
    if scale == "l2":
        s_query, s = normalise(s_query), normalise(s)
    turned = {"train": (-1, -1), "behavior": (1, 1), "both": (1, -1)}[signal]
    return similarity * products(turned[0] * s_query, turned[1] * s)
