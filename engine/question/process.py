"""What every process T says of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar

from pydantic import Field

from engine.basics.values import Number, Sparse

Eta = Annotated[Number, Field(gt=0, le=100)]


class ProcessValue(Sparse, ABC):
    """derivative: the score is dB/dα, not a difference. linear: it can be answered, or approximated, by one linear
    system with the curvature. whole_objective: every candidate's model is sought on its intervened objective of all
    examples. optimum: it is sought until it minimises that. random: the estimand is an expectation over seeds.
    double: it takes so many steps that their rounding needs float64. of_descent: parameters that a model with a recipe
    of its own does not read. at_once: one computation answers for all candidates. at_checkpoints: it visits checkpoints
    of the training.
    """

    kind: str
    derivative: ClassVar[bool] = False
    linear: ClassVar[bool] = False
    whole_objective: ClassVar[bool] = False
    optimum: ClassVar[bool] = False
    random: ClassVar[bool] = False
    double: ClassVar[bool] = False
    of_descent: ClassVar[tuple[str, ...]] = ()
    at_once: ClassVar[bool] = False
    at_checkpoints: ClassVar[bool] = False

    @property
    def title(self) -> str:
        """Its name on a chip."""
        return self.kind.replace("_", " ")

    @property
    @abstractmethod
    def clause(self) -> str:
        """Its clause in the question."""

    @property
    def plain_title(self) -> str:
        """Its name where only a ranking is read, which the sizes of its steps do not change."""
        return self.title

    @property
    def plain_clause(self) -> str:
        """Its clause where only a ranking is read."""
        return self.clause

    @property
    def one_model(self) -> bool:
        """Whether B is read at one counterfactual model, not summed or averaged over several."""
        return True

    @property
    def models(self) -> int:
        """At how many counterfactual models of one training run the behavior is read."""
        return 1

    @property
    def updates(self) -> int:
        """How many gradient steps it takes on z_k alone, over all of these models."""
        return 0

    @property
    def factual_latex(self) -> str:
        """What the counterfactual parameters are compared with, as LaTeX."""
        return r"\theta_{\mathcal D}"
