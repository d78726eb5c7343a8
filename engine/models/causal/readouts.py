r"""Behaviors of a language model: scalars read off the logits of a record, larger where the model does more of it.

    response_loss      mean over response tokens of log p(token)         (minus the mean token loss)
    explanation_loss   the same over the explanation's tokens
    answer_logit       logit of the stated answer letter where it is predicted
    answer_margin      that logit minus the largest logit of another choice

Logits are given where the last R tokens are predicted, (b, R, V); every behavior returns (b,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry
from engine.models.causal.encoding import Batch, Encoded


@dataclass(frozen=True)
class LanguageBehavior:
    """read(logits (b, R, V), batch) -> (b,). needs: the span that a record must have. clause: for a question."""

    name: str
    title: str
    clause: str
    formula: str
    needs: str
    read: Callable[[Tensor, Batch], Tensor]

    @property
    def sentence(self) -> str:
        """The clause as a sentence of its own."""
        text = self.clause.rstrip(",")
        return f"{text[0].upper()}{text[1:]}."

    def lack(self, record: Encoded) -> str:
        """What a record lacks for this behavior; empty if nothing."""
        if self.needs == "explanation" and not record.explanation:
            return "an explanation span"
        if self.needs == "answer" and record.answer < 0:
            return "an answer span"
        if self.name == "answer_margin" and len(record.letters) < 2:
            return "a second choice"
        return ""

    def check(self, records) -> None:
        """Raise `InvalidInput` for the first of the encoded records that it cannot be read off."""
        for place, record in enumerate(records):
            if lacking := self.lack(record):
                raise InvalidInput(f"The behavior `{self.name}` needs {lacking}, which record {place + 1} does not "
                                   "have; add it, or choose `response_loss`.")


def token_log_probabilities(logits: Tensor, batch: Batch) -> Tensor:
    """log p of every target token, (b, R)."""
    picked = logits.gather(-1, batch.targets[..., None])[..., 0]
    return picked.float() - logits.float().logsumexp(-1)


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    return (values * mask).sum(1) / mask.sum(1).clamp_min(1)


def response_loss(logits: Tensor, batch: Batch) -> Tensor:
    return _mean(token_log_probabilities(logits, batch), batch.response)


def explanation_loss(logits: Tensor, batch: Batch) -> Tensor:
    return _mean(token_log_probabilities(logits, batch), batch.explanation)


def choice_logits(logits: Tensor, batch: Batch) -> Tensor:
    """Logits of the choices where the answer is predicted, (b, C); −inf where there are fewer choices."""
    there = logits[torch.arange(len(logits), device=logits.device), batch.answer].float()
    return there.gather(1, batch.letters.clamp_min(0)).masked_fill(batch.letters < 0, -torch.inf)


def answer_logit(logits: Tensor, batch: Batch) -> Tensor:
    return choice_logits(logits, batch).gather(1, batch.stated[:, None])[:, 0]


def answer_margin(logits: Tensor, batch: Batch) -> Tensor:
    choices = choice_logits(logits, batch)
    others = choices.scatter(1, batch.stated[:, None], -torch.inf)
    return choices.gather(1, batch.stated[:, None])[:, 0] - others.amax(1)


LANGUAGE_BEHAVIORS: Registry[LanguageBehavior] = Registry("language behavior")
for _behavior in (
    LanguageBehavior("response_loss", "Response loss", "the log-likelihood of the whole response, per token,",
                     r"\tfrac1{|R|}\sum_{t\in R}\log p_t", "", response_loss),
    LanguageBehavior("explanation_loss", "Explanation loss", "the log-likelihood of the explanation, per token,",
                     r"\tfrac1{|E|}\sum_{t\in E}\log p_t", "explanation", explanation_loss),
    LanguageBehavior("answer_logit", "Answer logit", "the logit of the stated answer",
                     r"f_{y}", "answer", answer_logit),
    LanguageBehavior("answer_margin", "Answer margin",
                     "the lead of the stated answer's logit over the best other choice",
                     r"f_{y}-\max_{j\neq y}f_{j}", "answer", answer_margin),
):
    LANGUAGE_BEHAVIORS.add(_behavior.name, _behavior)
