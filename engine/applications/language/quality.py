"""What a fine-tuned model does: how often it picks an answer after a record's explanation.

The answer is the choice with the largest logit where the response states it, given the prompt and the explanation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from engine.models.causal import passes
from engine.models.causal.encoding import Batch, Encoded, Encoder
from engine.models.causal.readouts import Logits, choice_logits


def picks_stated(logits: Logits, batch: Batch) -> Tensor:
    """1 where the stated answer is the model's own choice, (b,)."""
    return (choice_logits(logits, batch).argmax(1) == batch.stated).float()


def rate(model, encoder: Encoder, records: Sequence[Encoded], size: int = 8, check=lambda: None) -> float:
    """The fraction of records whose stated answer the model picks: accuracy, or attack success for a wrong target."""
    return float(np.mean(passes.read(model, encoder, records, [picks_stated], size, check)[:, 0].numpy()))
