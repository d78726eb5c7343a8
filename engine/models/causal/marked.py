r"""Tokens of a response by their mark, and the loss of these alone.

    ℓ_M(z) = −(1/|R|) Σ_{t∈M} log p_t      of the marked tokens M of a response R

so that the losses of a record's answer, its explanation and the rest add up to its loss ℓ_R. A record without the mark
has the loss 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor

from engine.models.causal.encoding import Batch, Encoded
from engine.models.causal.readouts import Logits, mean_response_likelihood, token_log_probabilities

Mark = Literal["response", "explanation", "answer"]
Weights = Callable[[Batch], Tensor]
"""What multiplies the log-probability of every target of a batch in a sum over them: (b, R)."""


MARKED: dict[str, Callable[[Batch], Tensor]] = {
    "response": lambda batch: batch.response,
    "explanation": lambda batch: batch.explanation,
    "answer": lambda batch: batch.answered,
}
"""Mark -> the targets that bear it, (b, R) bool."""


def bears(record: Encoded, mark: Mark) -> bool:
    """Whether a record has tokens with the mark."""
    return {"response": True, "explanation": bool(record.explanation), "answer": bool(record.answered)}[mark]


def loss_weights(mark: Mark) -> Weights:
    """Those of ℓ_M, in float64."""
    return lambda batch: -MARKED[mark](batch).double() / batch.response.sum(1, keepdim=True).clamp_min(1)


def mean_weights(mark: Mark) -> Weights:
    """Those of the mean over the marked tokens, in float64."""
    def weights(batch: Batch) -> Tensor:
        marked = MARKED[mark](batch)
        return marked.double() / marked.sum(1, keepdim=True).clamp_min(1)

    return weights


def loss(mark: Mark) -> Callable[[Logits, Batch], Tensor]:
    """ℓ_M of every record, (b,)."""
    if mark == "response":
        return lambda logits, batch: -mean_response_likelihood(logits, batch)

    def value(logits: Logits, batch: Batch) -> Tensor:
        log_p = token_log_probabilities(logits, batch)
        return (log_p * loss_weights(mark)(batch).to(log_p)).sum(1)

    return value
