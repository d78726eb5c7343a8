"""What a model says of an example: the class it finds most probable, or whether it prefers a record's stated answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp

import torch
from torch import Tensor

from engine.basics.values import signed
from engine.desk import Problem, SampledProblem, TargetProblem
from engine.desk.datasets import NO_ANSWER, spelled
from engine.question.token_behaviors import COLUMNS, stated_answer_preferred

LEAD, PROBABILITY = "lead of the answer", "p(label)"
OF_ANSWER, OF_TOKEN = "p(answer)", "p per token"
MARGIN, ANSWER, RESPONSE = (COLUMNS[name] for name in ("answer_margin", "answer_log_probability", "response_loss"))
OTHER, LOSS = "another answer", "loss"


@dataclass(frozen=True)
class Prediction:
    """said: the class, or the stated answer where the model prefers it; empty of a record that states none. value: the
    probability of the label, or how far the stated answer's logit leads; without another choice its probability,
    without an answer that of a response token, the geometric mean; of an example with a target, whose outputs are the
    sentence and of which nothing is said, its loss; measure: which of them. sentence: said, in more
    words."""

    said: str
    sentence: str
    value: float
    measure: str

    @property
    def number(self) -> str:
        return signed(self.value, 2, "+") if self.measure == LEAD else f"{self.value:z.3f}"

    @property
    def measured(self) -> str:
        return f"{self.measure} = {self.number}"


def columns(said: Sequence[Prediction]) -> dict[str, list[float | None]]:
    """The values of predictions as columns of a table, one a measure."""
    return {measure: [one.value if one.measure == measure else None for one in said]
            for measure in dict.fromkeys(one.measure for one in said)}


def of_queries(sampled: SampledProblem) -> list[Prediction]:
    """Of every query, in the order of the draw."""
    problem = sampled.problem
    logits = problem.query_logits
    if sampled.dataset.targets is not None:
        return _of_targets(sampled, logits, problem.query_labels)
    return _read(sampled, logits if sampled.dataset.records is not None else logits.softmax(-1), sampled.sample.y_query)


def of_training(sampled: SampledProblem, rows: Sequence[int]) -> list[Prediction]:
    """Of training examples, or new candidates, by their rows."""
    problem = sampled.problem
    chosen, texts = torch.as_tensor(list(rows), device=problem.device), sampled.dataset.records is not None
    if sampled.dataset.targets is not None:
        return _of_targets(sampled, _outputs(problem, problem.units(chosen).x), problem.units(chosen).y)
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


def _of_targets(sampled: SampledProblem, outputs: Tensor, rows: Tensor) -> list[Prediction]:
    """Of outputs (b, C) and the rows (b,) of their targets."""
    assert isinstance(sampled.problem, TargetProblem), "of data with targets"
    return [Prediction("", words, loss, LOSS) for words, loss in zip(
        spelled(outputs.double().cpu().numpy()), sampled.problem.loss(outputs, rows).tolist(), strict=True)]


def _read(sampled: SampledProblem, outputs: Tensor, labels: Iterable[int]) -> list[Prediction]:
    """Of probabilities (b, C), or of what is read off the tokens (b, J), and labels (b,)."""
    names = sampled.dataset.class_names
    if sampled.dataset.records is not None:
        said = zip(labels, outputs.tolist(), stated_answer_preferred(outputs).tolist(), strict=True)
        return [_preferred(names[label], row, preferred) for label, row, preferred in said]
    return [Prediction(names[int(row.argmax())], f"{names[int(row.argmax())]}, with probability {row.max().item():.3f}",
                       row[int(label)].item(), PROBABILITY) for label, row in zip(labels, outputs.cpu(), strict=True)]


def _preferred(answer: str, row: Sequence[float], preferred: bool) -> Prediction:
    """row (J,): what is read off the tokens of a record."""
    if answer == NO_ANSWER:
        return Prediction("", "", exp(row[RESPONSE]), OF_TOKEN)
    said = answer if preferred else OTHER
    return Prediction(said, said, *((row[MARGIN], LEAD) if row[MARGIN] else (exp(row[ANSWER]), OF_ANSWER)))
