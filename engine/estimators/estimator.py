"""What an estimator is: a route to an estimand, with the specifications it can target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from engine.errors import InvalidInput
from engine.exact.response import Response
from engine.specification import Specification

Respond = Callable[..., list[Response]]


@dataclass(frozen=True)
class Estimator:
    """A route from a specification to scores.

    routes: process kind -> respond(problem, interventions, process, candidates, options) -> responses.
    exact: whether it evaluates the estimand itself, to rounding error, or approximates it.
    needs_gradient: whether it reads the behavior through its gradient.
    """

    name: str
    title: str
    exact: bool
    note: str
    source: str = ""
    needs_gradient: bool = False
    routes: dict[str, Respond] = field(default_factory=dict, repr=False)
    unfit_interventions: Sequence[str] = ()

    def refusal(self, specification: Specification) -> str | None:
        """Why this estimator cannot target a specification, as a sentence; None if it can."""
        behavior, process = specification.readout, specification.process.kind
        if process not in self.routes:
            fits = " or ".join(f"`{kind}`" for kind in self.routes)
            return f"The estimator `{self.name}` does not target `{process}`; use it with {fits}, or use `exact`."
        if specification.intervention.kind in self.unfit_interventions:
            return (f"The estimator `{self.name}` does not target `{specification.intervention.kind}`, which is "
                    "already linear; use `exact`.")
        if self.needs_gradient and not behavior.differentiable:
            return (f"The behavior `{behavior.name}` has no gradient, so the estimator `{self.name}` cannot score it; "
                    "use `exact` with a finite process.")
        return None

    def check(self, specification: Specification) -> None:
        """Raise `InvalidInput` with the refusal, if there is one."""
        refusal = self.refusal(specification)
        if refusal:
            raise InvalidInput(refusal)
