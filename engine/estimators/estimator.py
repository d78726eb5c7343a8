"""What an estimator is: a route to an estimand, with the specifications it can target and what it needs for that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.settings import Settings
from engine.estimators.cost import Cost
from engine.estimators.named import Named
from engine.gradients.response import Response, Term
from engine.problems import PROBLEMS, Problem
from engine.question.departure import Departure
from engine.question.interventions import Intervention
from engine.question.processes import Process
from engine.question.specification import Specification

Respond = Callable[..., list[Response]]
Pooled = Callable[..., Tensor]
NOTHING: Set[str] = frozenset()


def closed_form(terms: Callable[..., Sequence[Term]]) -> Respond:
    """The route of a closed form that is the same under every intervention that the estimator fits: terms(problem,
    process, candidates (b,), options, and the settings that are not at their default) are added up."""
    def respond(problem: Problem, interventions: Sequence[Intervention], process: Process, candidates: Tensor,
                options: Options, **settings: Any) -> list[Response]:
        response = Response.closed_form(*terms(problem, process, candidates, options, **settings))
        return [response for _ in interventions]

    return respond


@dataclass(frozen=True)
class Estimator:
    """A route from a specification to scores.

    routes: process kind -> respond(problem, interventions, process, candidates, options) -> responses, one an
    intervention. needs: what a problem must offer (see `engine.problems.problem.Problem`).
    exact: whether it evaluates the estimand itself, to rounding error, or approximates it.
    departures: of which intervention kind -> where
    the question that it answers is another one than the specification's. implies: whether it answers a counterfactual
    question at all; a baseline's scores are the same whatever is asked, and larger ones rank first. cost: of its
    answers. named: the names of the literature that it answers for. by_hessian: the process kinds that it answers by
    many products with the Hessian, or by second derivatives of behaviors, which not every kind of problem has in
    sensible time. pooled: (intervention kind, process kind) -> (network, u (r, P), process, options) -> d (r, P), where
    it scores ⟨d, ∇ℓ(z_k; θ_D)⟩ for the gradient u of a behavior or of a mean of queries' behaviors. pooled_by_class:
    the same keys -> (network, φ (b, F), μ (b, F), process) -> (b,), how it scores candidates of representations φ with
    the mean representation μ of queries of their own class. settings: what of its approximation can be chosen, as
    keyword arguments of its routes; None where nothing can. computes: whether its scores are computed here, not read.
    proper: whether its title is a name of its own, which sentences leave as it is written. all_layers: of one that
    reads the last layer alone, the estimator that does the same in all.
    """

    name: str
    title: str
    exact: bool
    note: str
    source: str = ""
    routes: Mapping[str, Respond] = field(default_factory=dict, repr=False)
    needs: Sequence[str] = ()
    unfit_interventions: Sequence[str] = ()
    departures: Mapping[str, tuple[Departure, ...]] = field(default_factory=dict, repr=False)
    implies: bool = True
    named: Sequence[Named] = ()
    by_hessian: Sequence[str] = ()
    pooled: Mapping[tuple[str, str], Pooled] = field(default_factory=dict, repr=False)
    pooled_by_class: Mapping[tuple[str, str], Pooled] = field(default_factory=dict, repr=False)
    settings: type[Settings] | None = None
    computes: bool = True
    proper: bool = False
    all_layers: str = ""
    cost: Cost = field(kw_only=True, repr=False)

    @property
    def needs_gradient(self) -> bool:
        """Whether it reads the behavior through its gradient, as all approximations of a specification do."""
        return self.implies and not self.exact

    @property
    def unsigned(self) -> bool:
        """Whether its scores say how much an example matters, and not in which direction."""
        return False

    @property
    def facts(self) -> Mapping[str, Any]:
        """What a manifest says of it beside its name."""
        return {}

    def check_problem(self, problem: Problem) -> None:  # noqa: B027 - most take any problem that they serve
        """Raises an error that says why it has no scores of this very problem."""

    @property
    def short_title(self) -> str:
        """Where there is little room."""
        return self.title

    def configured(self, settings: Settings) -> Estimator:
        """The same estimator with other settings than its defaults, said in its title."""
        given = settings.model_dump()
        return replace(self, title=f"{self.title}, {settings.words}",
                       cost=self.cost.scaled(settings.effort, settings.trainings),
                       routes={kind: partial(respond, **given) for kind, respond in self.routes.items()})

    def implied(self, intervention: Intervention) -> tuple[Departure, ...]:
        """How the specification that it implies departs from one with this intervention."""
        return self.departures.get(intervention.kind, ())

    def refusal(self, specification: Specification, kind: str | None = None, more: Set[str] = NOTHING) -> str | None:
        """Why this estimator cannot target a specification, on problems of a kind if one is named; None if it can.
        more: what the problem's training offers besides."""
        behavior, process = specification.readout, specification.process.kind
        processes = self.processes if kind is None or self.serves(PROBLEMS[kind], more) else ()
        if not self.implies and processes:
            return None
        if process not in processes:
            fits = " or ".join(f"`{name}`" for name in processes)
            if not fits:
                return f"The estimator `{self.name}` is not defined for this kind of model; use {self._other}."
            exact = "" if self.exact else ", or use `exact`"
            return f"The estimator `{self.name}` does not target `{process}`; use it with {fits}{exact}."
        if specification.intervention.kind in self.unfit_interventions:
            return (f"The estimator `{self.name}` does not target `{specification.intervention.kind}`; use "
                    f"{self._other}, or another intervention.")
        if self.needs_gradient and not behavior.differentiable:
            return (f"The behavior `{behavior.name}` has no gradient, so the estimator `{self.name}` cannot score it; "
                    f"use {'' if self.exact else '`exact` with '}a finite process.")
        return None

    @property
    def _other(self) -> str:
        """What a sentence advises in its place: never itself."""
        return "another estimator" if self.exact else "`exact`"

    @property
    def processes(self) -> tuple[str, ...]:
        """The kinds of process it can target."""
        return tuple(self.routes)

    def serves(self, problem: Problem | type[Problem], more: Set[str] = NOTHING) -> bool:
        """Whether a problem, or a kind of problem with what its training offers besides, offers what it needs."""
        return set(self.needs) <= problem.offers | more

    def offered(self, problem: Problem | type[Problem], process_kind: str, more: Set[str] = NOTHING) -> bool:
        """Whether a problem, or a kind of problem as in `serves`, has its answer to a process in sensible time."""
        return self.serves(problem, more) and (problem.hessian_products or process_kind not in self.by_hessian)

    def route(self, problem: Problem, process_kind: str) -> Respond:
        """How it answers on this kind of problem. Raises `InvalidInput` where it cannot."""
        routes = self.routes if self.serves(problem) else {}
        if process_kind not in routes:
            fits = " or ".join(f"`{kind}`" for kind in routes)
            raise InvalidInput(f"The estimator `{self.name}` does not target `{process_kind}` for {problem.noun}; "
                               + (f"use it with {fits}, or use {self._other}." if routes else "use another estimator."))
        return routes[process_kind]

    def check(self, specification: Specification) -> None:
        """Raise `InvalidInput` with the refusal, if there is one."""
        refusal = self.refusal(specification)
        if refusal:
            raise InvalidInput(refusal)
