r"""The problem of a network that is trained on targets, numbers of any kind and shape, by a loss of the user's own.

    ℓ(z_k; θ) = loss(f(x_k; θ), t_k)        regression, or several labels an example

In place of labels stand rows of the table of all targets, so that steps, curvature, replays and trainings are those of
any network. What is asked of a query is B = −loss(f(q), t_q), or a behavior of the user's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.models.losses import Loss
from engine.problems.candidates import Arraylike
from engine.problems.module import ModuleProblem
from engine.problems.problem import Problem
from engine.question.behavior import OWN_LOSS, Behavior, Readout, Reads
from engine.question.behaviors import autograd_signal
from engine.question.interventions import Relabel
from engine.question.specification import Specification


class OfTargets:
    """loss(outputs (b, C), targets (b, …)) -> (b,) as a function of outputs and rows (b,) of the targets (r, …)."""

    def __init__(self, loss: Loss, targets: Tensor) -> None:
        self.loss, self.targets = loss, targets

    def __call__(self, outputs: Tensor, rows: Tensor) -> Tensor:
        return self.loss(outputs, self.at(outputs, rows))

    def at(self, outputs: Tensor, rows: Tensor) -> Tensor:
        """The targets of rows (b,), real ones in the precision of the outputs."""
        own = self.targets.to(rows.device).index_select(0, rows)
        return own.to(outputs.dtype) if own.is_floating_point() else own

    def reading(self, value: Readout) -> Readout:
        """A function of outputs (b, C) and targets (b, …) as one of outputs (…, C) and rows that broadcast: (…)."""
        def read(outputs: Tensor, rows: Tensor) -> Tensor:
            flat, shape = outputs.reshape(-1, outputs.shape[-1]), outputs.shape[:-1]
            return value(flat, self.at(flat, rows.expand(shape).reshape(-1))).view(shape)

        return read


class TargetProblem(ModuleProblem):
    """A module that maps inputs (b, …) to outputs (b, C). y_train, y_query: rows of the targets of `loss`.

    Raises `InvalidInput` as `ModuleProblem` does, but for labels.
    """

    kind, noun = "targets", "a network trained on targets"
    reads: ClassVar[Reads] = "targets"
    unoffered = frozenset({"auxiliary", "relabel"})
    offers = ModuleProblem.offers - {"labels", "margins"}
    loss: OfTargets

    def _check_range(self, labels: Tensor) -> None:
        """Rows of targets are no classes."""

    def _check_labels(self, classes: int) -> None:
        """As `_check_range`."""

    def prepare(self) -> None:
        self.facts, self.query_logits  # noqa: B018 - trains

    def with_outside(self, x: Arraylike, y: Arraylike, candidates: Arraylike | Iterable[int] | None = None) -> Self:
        """y: the targets (o, …) of the candidates."""
        known, new = self.loss.targets, torch.as_tensor(y)
        if new.shape[1:] != known.shape[1:]:
            raise InvalidInput(f"The new candidates have targets of shape {tuple(new.shape[1:])}, and the training "
                               f"examples {tuple(known.shape[1:])}; give the same.")
        loss = OfTargets(self.loss.loss, torch.cat([known, new.to(known)]))
        wide = type(self)(self.network, *self.trained_examples, **{**self._settings, "loss": loss})
        return super(TargetProblem, wide).with_outside(x, torch.arange(len(known), len(known) + len(new)), candidates)

    @classmethod
    def refusal(cls, specification: Specification) -> str:
        try:
            cls.check_behavior(specification.readout)
            if specification.intervention.label_free:
                cls.check_raised(specification.readout)
            if isinstance(specification.intervention, Relabel):
                cls.check_label(specification.intervention.label)
        except InvalidInput as error:
            return str(error)
        return ""

    @classmethod
    def check_behavior(cls, behavior: Behavior) -> None:
        if not behavior.fits(cls.reads):
            raise InvalidInput(f"The behavior `{behavior.name}` is read off class logits, and this network is trained "
                               f"on targets; use `{OWN_LOSS}`, minus its own loss at the query, or a function of "
                               "outputs and targets by `register_behavior`.")

    def asking(self, behaviors: Sequence[Behavior]) -> tuple[Problem, list[Behavior]]:
        return self, [self._read(behavior) for behavior in behaviors]

    def _read(self, behavior: Behavior) -> Behavior:
        value = self.loss.reading(behavior.value if behavior.own else lambda *read: -self.loss.loss(*read))
        return replace(behavior, value=value, signal=behavior.signal and autograd_signal(value), difference=None,
                       steepest=None)

    @classmethod
    def check_raised(cls, behavior: Behavior) -> None:
        raise InvalidInput("The label-free loss raises the output of a class, and this network is trained on targets; "
                           "choose an intervention on its own loss, such as `add_occurrence`.")

    @classmethod
    def check_label(cls, label: int) -> None:
        raise InvalidInput("The examples have targets, and no class to relabel to; remove or upweight them.")
