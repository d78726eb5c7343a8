"""What a model says of an example: the class it finds most probable, or whether it prefers a record's stated answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.values import signed
from engine.desk import Problem, SampledProblem
from engine.question.token_behaviors import COLUMNS, RESPONSE

LEAD, PROBABILITY, LIKELIHOOD = "lead of the answer", "p(label)", "log-likelihood per token"
MARGIN = COLUMNS["answer_margin"]
OTHER = "another choice"


@dataclass(frozen=True)
class Prediction:
    """said: the class, or the stated answer where it has the largest logit of all choices; empty of a record that
    states no answer beside other choices. value: the probability of the label, how far the stated answer's logit
    leads, or the log-likelihood of the response; measure: which of them. sentence: said, in more words."""

    said: str
    sentence: str
    value: float
    measure: str

    @property
    def number(self) -> str:
        return signed(self.value, 2, "+") if self.measure == LEAD else signed(self.value, 3)

    @property
    def measured(self) -> str:
        return f"{self.measure} = {self.number}"


def measure(sampled: SampledProblem) -> str:
    """What the value of its predictions is called."""
    if sampled.dataset.records is None:
        return PROBABILITY
    return LEAD if any(record.contested for split in sampled.dataset.records for record in split) else LIKELIHOOD


def of_queries(sampled: SampledProblem) -> list[Prediction]:
    """Of every query, in the order of the draw."""
    problem = sampled.problem
    logits = problem.query_logits
    return _read(sampled, logits if sampled.dataset.records is not None else logits.softmax(-1), sampled.sample.y_query)


def of_training(sampled: SampledProblem, rows: Sequence[int]) -> list[Prediction]:
    """Of training examples, or new candidates, by their rows."""
    problem = sampled.problem
    chosen, texts = torch.as_tensor(list(rows), device=problem.device), sampled.dataset.records is not None
    if problem.adds(chosen):
        outputs = _outputs(problem, problem.units(chosen).x)
        outputs = outputs if texts else outputs.softmax(-1)
    elif texts:
        outputs = problem.of_model("training outputs", lambda: _outputs(problem, problem.x))[chosen]
    else:
        outputs = problem.probabilities[chosen]
    return _read(sampled, outputs, sampled.sample.y_train[list(rows)])


def _outputs(problem: Problem, x: Tensor) -> Tensor:
    with problem.exclusive:
        return problem.outputs(x)


def _read(sampled: SampledProblem, outputs: Tensor, labels: Iterable[int]) -> list[Prediction]:
    """Of probabilities (b, C), or of what is read off the tokens (b, J), and labels (b,)."""
    names = sampled.dataset.class_names
    if sampled.dataset.records is not None:
        read = outputs[:, [MARGIN, RESPONSE]].tolist()
        return [_preferred(names[label], *numbers) for label, numbers in zip(labels, read, strict=True)]
    return [Prediction(names[int(row.argmax())], f"{names[int(row.argmax())]}, with probability {row.max().item():.3f}",
                       row[int(label)].item(), PROBABILITY) for label, row in zip(labels, outputs.cpu(), strict=True)]


def _preferred(answer: str, lead: float, likelihood: float) -> Prediction:
    if not lead:  # the record has no answer, or no other choice
        return Prediction("", "", likelihood, LIKELIHOOD)
    said = answer if lead > 0 else OTHER
    return Prediction(said, said, lead, LEAD)
