"""Methods of the literature by their usual names, each with the specification that it implies (paper, Table 1), and
baselines with none: a view of what every estimator says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from engine.basics.registry import Registry
from engine.estimators import ESTIMATORS, configured
from engine.estimators.named import CODE, ROWS, TRAINING_RUN, Named
from engine.question.processes import PROCESSES
from engine.scoring.scoring import Scoring

OF_TOKENS = {"query_loss": "response_loss", "query_logit": "answer_logit", "soft_margin": "answer_margin"}
"""What a named method reads off a language model instead of class logits."""


@dataclass(frozen=True)
class NamedMethod(Named):
    """A name, by the estimator that answers for it."""

    estimator: str = ""

    def answers(self, kind: str) -> bool:
        """Whether it can be computed on problems of a kind, by its name in `engine.problems.PROBLEMS`."""
        scoring = self.implied()
        return scoring.route.refusal(scoring.specification, kind) is None

    def implied(self, behavior: str | None = None, eta: float = 0.1, **process: float | str) -> Scoring:
        """Its scoring; eta: of a process that has none of its own. process: values such as `damping` or `checkpoints`
        in place of its process's own; a process without them stays as it is."""
        if not self.implies:
            return Scoring.parse({"estimator": self.estimator})
        fields = PROCESSES[self.process].model_fields
        steps = {"eta": eta} if "eta" in fields and fields["eta"].is_required() else {}
        own = {name: value for name, value in process.items() if name in fields}
        return Scoring.of(behavior or self.behavior, {"kind": self.intervention},
                          {"kind": self.process, **steps, **own}, self.estimator)

    @property
    def implies(self) -> bool:
        """Whether it implies a specification; a baseline does not."""
        return configured(self.estimator).implies


def _methods() -> list[NamedMethod]:
    """By row of Table 1, and there in the order of the estimators. What a name leaves out is said as the title, and as
    the estimator's note."""
    methods = [NamedMethod(**{**vars(one), "label": one.label or one.title, "note": one.note or estimator.note},
                           estimator=estimator.name) for estimator in ESTIMATORS.values() for one in estimator.named]
    return sorted(methods, key=lambda method: ROWS.index(method.row))


NAMED: Registry[NamedMethod] = Registry("named method", _methods())

__all__ = ["CODE", "NAMED", "OF_TOKENS", "TRAINING_RUN", "NamedMethod"]
