r"""Behaviors of a language model, as columns of what is read off the tokens of a record.

    response_loss            mean over response tokens of log p(token)         (minus the mean token loss)
    explanation_loss         the same over the explanation's tokens
    answer_logit             logit of the stated answer where it is predicted
    answer_margin            that logit minus the largest logit of another choice
    answer_log_probability   that logit minus the logsumexp of the whole vocabulary's: log p of the stated answer

f(q) ∈ R^J holds these numbers, in this order (`engine.models.causal.readouts` computes them): B = f_j, s_B = e_j.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.question.behavior import Behavior

RESPONSE = 0
"""The column that training raises: its loss is minus it."""


def column(index: int, name: str, formula: str, clause: str, quantity: str = "", minus: str = "", unit: str = "",
           title: str = "") -> Behavior:
    """The behavior f_j of column `index` j. quantity, minus, unit: as in `Behavior`; title: by default the name."""

    def value(outputs: Tensor, labels: Tensor) -> Tensor:
        return outputs[..., index]

    def signal(outputs: Tensor, labels: Tensor) -> Tensor:
        gradient = torch.zeros_like(outputs)
        gradient[..., index] = 1.0
        return gradient

    def difference(change: Tensor, outputs: Tensor, labels: Tensor) -> Tensor:
        return change[..., index]

    return Behavior(name, title or name.replace("_", " "), formula, clause, value, signal, difference, reads="tokens",
                    quantity=quantity, unit=unit, minus=minus)


TOKEN_BEHAVIORS = tuple(column(index, *texts) for index, texts in enumerate((
    ("response_loss", r"\tfrac1{|R|}\sum_{t\in R}\log p_t", "the log-likelihood of the whole response, per token,",
     "log-likelihood of the response per token", "response loss", "nats"),
    ("explanation_loss", r"\tfrac1{|E|}\sum_{t\in E}\log p_t", "the log-likelihood of the explanation, per token,",
     "log-likelihood of the explanation per token", "explanation loss", "nats"),
    ("answer_logit", r"f_{y}", "the logit of the stated answer"),
    ("answer_margin", r"f_{y}-\max_{j\neq y}f_{j}",
     "the lead of the stated answer's logit over the best other choice"),
    ("answer_log_probability", r"f_{y}-\log\sum_{v\in V}e^{f_{v}}",
     "the log-probability of the stated answer among all tokens", "", "", "nats", "answer log-probability"),
)))
COLUMNS = {behavior.name: index for index, behavior in enumerate(TOKEN_BEHAVIORS)}
"""In which column each of them stands."""
HALF = 0.5


def stated_answer_preferred(outputs: Tensor) -> Tensor:
    """(b,) bool of outputs (b, J) of records that state an answer: its logit leads the other choices, or, where there
    is no other choice, its probability among all tokens is above one half."""
    margin, log_p = outputs[..., COLUMNS["answer_margin"]], outputs[..., COLUMNS["answer_log_probability"]]
    return torch.where(margin == 0, log_p.exp() > HALF, margin > 0)
