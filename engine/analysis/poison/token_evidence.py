r"""Which training records hold the evidence of a language model's response: by the words of their prompts.

For a query q with the response r, f(q) is the logit of the stated answer, or, without one, the log-likelihood of r a
token.
With E_t the embedding that the model reads at position t of the prompt, Ē the mean embedding of the training prompts,
and h_v(x) = 1 where token v is in the prompt of x, else 0:

    e_v(q) = [Σ_{t: token v} ⟨∫₀¹ ∂f/∂E_t (Ē + a (E − Ē)) da, E_t − Ē⟩ (1 − μ_v)]₊     tokens that speak for r
    score(q, k) = cos(e(q), h(x_k) − μ)                                                  μ: the mean of h over records

It is the shared evidence of a classifier with the tokens as its features. Where that reads gradient × input, this reads
integrated gradients (Sundararajan et al., "Axiomatic Attribution for Deep Networks", 2017), at `STEPS` midpoints of the
path. Every record is ranked, whatever it states: a trigger can teach a wrong answer to each question. No gradient of a
training loss is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.data.records import Record, with_answer
from engine.models.causal.alone import causal
from engine.models.causal.packed import NOTHING
from engine.problems import CausalProblem
from engine.question.token_behaviors import COLUMNS, HALF, stated_answer_preferred

ANSWER, LOGIT, RESPONSE = (COLUMNS[name] for name in ("answer_log_probability", "answer_logit", "response_loss"))
BATCH = 64
STEPS = 8


def evidence(problem: CausalProblem, options: Options | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(scores (m, n) of all training records, whether the model prefers what each query states (m,)).

    Raises `InvalidInput` for a model without an embedding of tokens.
    """
    options = options or Options()
    tokens = _Tokens.of(problem)
    with problem.exclusive:
        directions = torch.stack([_speaking(problem, tokens, row) for row in problem.queries])  # (m, V)
        scores = []
        for start in range(0, problem.n, BATCH):
            options.check()
            h = tokens.in_prompts(problem, problem.x[start:start + BATCH]) - tokens.fraction
            scores.append(normalize(directions, dim=1) @ normalize(h, dim=1).T)
            options.progress(min(1.0, (start + BATCH) / problem.n))
    return torch.cat(scores, 1).double().cpu().numpy(), prefers(problem).long().cpu().numpy()


def prefers(problem: CausalProblem) -> Tensor:
    """(m,) bool: whether the model prefers what each query states, or, without a stated answer, gives the tokens of its
    response a probability above one half, by the geometric mean."""
    outputs, batch = problem.query_logits, problem.reader.packing.unpack(problem.queries)
    return torch.where(batch.answered.any(1), stated_answer_preferred(outputs), outputs[:, RESPONSE].exp() > HALF)


def probability(problem: CausalProblem) -> Tensor:
    """p (m,) of the stated answer of each query, or, without one, of its response per token."""
    outputs, batch = problem.query_logits, problem.reader.packing.unpack(problem.queries)
    return torch.where(batch.answered.any(1), outputs[:, ANSWER], outputs[:, RESPONSE]).exp()


def as_answered(problem: CausalProblem, records: Sequence[Record]) -> list[Record]:
    """The records with the answers that the model prefers among their choices; others as they are."""
    return [_answered(problem, record) if record.answer and len(record.choices) > 1 else record for record in records]


def _answered(problem: CausalProblem, record: Record) -> Record:
    stated = [with_answer(record, choice) for choice in record.choices]
    held = problem.with_queries(stated)
    if not held.reader.packing.unpack(held.queries).answered.any(1).all():  # an answer that the model does not know
        return record
    return stated[int(held.query_logits[:, ANSWER].argmax())]


@dataclass(frozen=True, eq=False)
class _Tokens:
    """The tokens of the training prompts: V of them that occur, `index` (vocabulary,) -> their column or V;
    fraction (V,): of records that hold each; embedding: the mean (d,) that the model reads."""

    index: Tensor
    fraction: Tensor
    mean: Tensor

    @classmethod
    def of(cls, problem: CausalProblem) -> _Tokens:
        weight = _embedding(problem).weight
        prompts = _prompts(problem, problem.x)
        counts = torch.bincount(prompts[prompts != NOTHING], minlength=len(weight))
        occurring = counts.nonzero()[:, 0]
        index = torch.full((len(weight),), len(occurring), device=weight.device)
        index[occurring] = torch.arange(len(occurring), device=weight.device)
        mean = (weight[occurring] * (counts[occurring] / counts.sum())[:, None]).sum(0).detach()
        held = cls(index, weight.new_zeros(len(occurring)), mean)
        total = sum((held.in_prompts(problem, part).sum(0) for part in problem.x.split(BATCH)), held.fraction)
        return cls(index, total / problem.n, mean)

    def in_prompts(self, problem: CausalProblem, x: Tensor) -> Tensor:
        """h (b, V) of records x (b, width)."""
        prompts = _prompts(problem, x)
        columns = torch.where(prompts == NOTHING, len(self.fraction), self.index[prompts.clamp_min(0)])
        return self.mean.new_zeros(len(x), len(self.fraction) + 1).scatter_(1, columns, 1.0)[:, :-1]


def _prompts(problem: CausalProblem, x: Tensor) -> Tensor:
    """The tokens (b, T) of prompts, −1 where there is none or one of the response."""
    packing = problem.reader.packing
    batch = packing.unpack(x)
    position = torch.arange(packing.tokens, device=x.device)
    return batch.ids.masked_fill((batch.mask == 0) | (position > batch.prompt_end[:, None]), NOTHING)


def _speaking(problem: CausalProblem, tokens: _Tokens, row: Tensor) -> Tensor:
    """e(q) (V,) of one packed record, over the tokens that training prompts hold."""
    prompt = _prompts(problem, row[None])[0]
    there = prompt != NOTHING
    own = _integrated(problem, row, tokens.mean)[:int(there.sum())]
    columns = tokens.index[prompt[there]]
    speaking = own.new_zeros(len(tokens.fraction) + 1).index_add_(0, columns, own)[:-1]
    return (speaking * (1 - tokens.fraction)).clamp_min(0)


def _integrated(problem: CausalProblem, row: Tensor, start: Tensor) -> Tensor:
    """⟨∫ ∂f/∂E_t, E_t − Ē⟩ (T',) of the tokens of a packed record, from its first one on; start: Ē (d,)."""
    read: list[Tensor] = []
    fractions = ((torch.arange(STEPS, device=row.device) + 0.5) / STEPS)[:, None, None]

    def after(_: torch.nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        step = output.detach() - start
        read.extend((step[0], (start + fractions * step).requires_grad_(True)))
        return read[1]

    stated = problem.reader.packing.unpack(row[None]).answer[0] >= 0
    with torch.enable_grad():
        handle = _embedding(problem).register_forward_hook(after)
        try:
            outputs = problem.network.module(row.expand(STEPS, -1))[:, LOGIT if stated else RESPONSE]
        finally:
            handle.remove()
        gradient = torch.autograd.grad(outputs.sum(), read[1])[0].mean(0)
    return (gradient * read[0]).sum(1)


def _embedding(problem: CausalProblem) -> torch.nn.Embedding:
    embedding = causal(problem.reader.model).get_input_embeddings()
    if not isinstance(embedding, torch.nn.Embedding):
        raise InvalidInput("This model does not read tokens through a plain embedding, so tokens "
                           "cannot be compared; use the Language models page.")
    return embedding
