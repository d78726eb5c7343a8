r"""How the behaviors of a language model are read off the logits of a record: see `engine.question.token_behaviors`.

Logits are given where the last R tokens are predicted, (b, R, V), or as the product that they are; every behavior
returns (b,).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry
from engine.basics.values import capital
from engine.data.records import Record
from engine.models.causal.encoding import Batch, Encoded
from engine.models.causal.unread import Unread
from engine.models.precision import at_least_single
from engine.question.behavior import Behavior
from engine.question.behaviors import BEHAVIORS, reading
from engine.question.likelihood import log_likelihood

Logits = Tensor | Unread


@dataclass(frozen=True)
class TokenReadout:
    """How a behavior is read off tokens. read(logits (b, R, V), batch) -> (b,). needs: the span that a record must
    have. choices: how many it compares."""

    name: str
    needs: str
    read: Callable[[Logits, Batch], Tensor]
    choices: int = 0

    @property
    def behavior(self) -> Behavior:
        return BEHAVIORS[self.name]

    @property
    def title(self) -> str:
        """As the paper's tables write it."""
        return self.behavior.title.capitalize()

    @property
    def clause(self) -> str:
        return self.behavior.clause

    @property
    def sentence(self) -> str:
        """The clause as a sentence of its own."""
        text = self.clause.rstrip(",")
        return f"{capital(text)}."

    def there(self, batch: Batch) -> Tensor:
        """Which records of a batch it can be read off, (b,) bool."""
        return SPANS[self.needs](batch) & ((batch.letters >= 0).sum(1) >= self.choices)

    def lack(self, record: Encoded) -> str:
        """What a record lacks for this behavior; empty if nothing."""
        return self._lacking(bool(record.explanation), len(record.answered), len(record.letters),
                             " of words that the model knows")

    def lack_of(self, record: Record) -> str:
        """`lack` of a record that is not encoded."""
        return self._lacking("explanation" in record.spans, len(record.answer.split()),
                             len({*record.choices, record.answer} - {""}))

    def _lacking(self, explanation: bool, answer: int, choices: int, of: str = "") -> str:
        if self.needs == "explanation" and not explanation:
            return "an explanation span"
        if self.needs == "answer" and not answer:
            return f"an answer span{of}"
        if self.choices and (answer > 1 or not choices):  # tokens, or words where it is not encoded
            return "an answer of one token"
        return "a second choice of one token" if choices < self.choices else ""

    def check(self, records: Iterable[Encoded]) -> None:
        """Raise `InvalidInput` for the first of the encoded records that it cannot be read off."""
        for index, record in enumerate(records):
            if lacking := self.lack(record):
                raise InvalidInput(f"The behavior `{self.name}` needs {lacking}, which record {index + 1} does not "
                                   "have; add it, or choose `response_loss`.")


def token_log_probabilities(logits: Logits, batch: Batch) -> Tensor:
    """log p of every target token of the response, (b, R); other columns are not to be read."""
    if isinstance(logits, Unread):
        return logits.log_probabilities
    return log_likelihood(at_least_single(logits), batch.targets)


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    return (values * mask).sum(1) / mask.sum(1).clamp_min(1)


def _part(values: Tensor, batch: Batch) -> Tensor:
    """(1/|R|) Σ over the tokens that count."""
    return (values * batch.scored).sum(1) / batch.response.sum(1).clamp_min(1)


def marked_likelihood(logits: Logits, batch: Batch, marked: Tensor) -> Tensor:
    """The mean of log p over marked targets (b, R); 0 where none is."""
    return _mean(token_log_probabilities(logits, batch), marked)


def response_likelihood(logits: Logits, batch: Batch) -> Tensor:
    """The sum of log p over the response; 0 where there is none."""
    return (token_log_probabilities(logits, batch) * batch.response).sum(1)


def mean_response_likelihood(logits: Logits, batch: Batch) -> Tensor:
    """The mean of log p over the response, which the behavior `response_loss` reads; of a record whose loss counts at
    some of its tokens, their part of it."""
    return _part(token_log_probabilities(logits, batch), batch)


def learned_likelihood(logits: Logits, batch: Batch) -> Tensor:
    """The same as training raises it: by `log_softmax`, whose gradients of tokens that fit move no step."""
    if isinstance(logits, Unread):
        return mean_response_likelihood(logits, batch)
    log_p = at_least_single(logits).log_softmax(-1)
    return _part(log_p.gather(-1, batch.targets[..., None])[..., 0], batch)


def explanation_loss(logits: Logits, batch: Batch) -> Tensor:
    return _mean(token_log_probabilities(logits, batch), batch.explanation)


def choice_logits(logits: Logits, batch: Batch) -> Tensor:
    """Logits of the choices where the answer is predicted, (b, C); −inf where there are fewer choices."""
    tokens = batch.letters.clamp_min(0)
    of_choices = logits.at(batch.answer, tokens) if isinstance(logits, Unread) else at_least_single(
        logits[torch.arange(len(logits), device=logits.device), batch.answer]).gather(1, tokens)
    return of_choices.masked_fill(batch.letters < 0, -torch.inf)


def answer_logit(logits: Logits, batch: Batch) -> Tensor:
    return choice_logits(logits, batch).gather(1, batch.stated.clamp_min(0)[:, None])[:, 0]


def answer_log_probability(logits: Logits, batch: Batch) -> Tensor:
    """The sum over the answer's tokens."""
    return (token_log_probabilities(logits, batch) * batch.answered).sum(1)


def answer_margin(logits: Logits, batch: Batch) -> Tensor:
    choices = choice_logits(logits, batch)
    stated = batch.stated.clamp_min(0)[:, None]
    return choices.gather(1, stated)[:, 0] - choices.scatter(1, stated, -torch.inf).amax(1)


SPANS: dict[str, Callable[[Batch], Tensor]] = {
    "": lambda batch: batch.response.any(1),
    "explanation": lambda batch: batch.explanation.any(1),
    "answer": lambda batch: batch.answered.any(1),
}
"""Which records have a span, by its name."""

READOUTS: Registry[TokenReadout] = Registry("language behavior", (
    TokenReadout("response_loss", "", mean_response_likelihood),
    TokenReadout("explanation_loss", "explanation", explanation_loss),
    TokenReadout("answer_logit", "answer", answer_logit, choices=1),
    TokenReadout("answer_margin", "answer", answer_margin, choices=2),
    TokenReadout("answer_log_probability", "answer", answer_log_probability),
))
assert tuple(READOUTS) == reading("tokens"), "the readouts are the columns that the behaviors read"


def lacking(records: Sequence[Record]) -> dict[str, str]:
    """behavior -> what one of the records lacks that it reads, of those that cannot be read off all of them."""
    lacks = {name: next(filter(None, map(readout.lack_of, records)), "") for name, readout in READOUTS.items()}
    return {name: lack for name, lack in lacks.items() if lack}
