r"""Identities: scorings that look different and must have the same scores, or the same ranking, as a table.

Each identity reads a scoring as another one, says what the two have in common for every query (`Gives`), for which
problems (`ProblemFacts`), and why. Two scorings are related where their readings meet, after any number of them.

The score of z_k at query q is B(q; θ_k^cf) − B(q; θ_D). What holds of it for all k holds of every ranking of q.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from engine.basics.settings import parsed
from engine.estimators import ESTIMATORS
from engine.estimators.influence_function import InfluenceFunction
from engine.problems import Problem
from engine.question.departure import STEPWISE
from engine.question.interventions import Infinitesimal, Remove, Upweight
from engine.question.processes import (
    LocalResponse,
    LocalSearch,
    OneStep,
    Reoptimize,
    Replay,
    Retrain,
    Trajectory,
    Unrolled,
)
from engine.scoring.scoring import Scoring

LARGEST_STEP = 100
RAISED = {"soft_margin": "query_logit", "hard_margin": "query_logit", "answer_margin": "answer_logit"}
"""Of which logit the auxiliary step raises a margin by as much."""
EVERY = Trajectory.model_fields["every"].default


class Gives(Enum):
    """What two score arrays have in common, query by query, once they are oriented."""

    EQUAL = "equal"
    PROPORTIONAL = "proportional"
    SHIFTED = "same up to a constant per query"
    RANKING = "same ranking"

    def then(self, other: Gives) -> Gives:
        """What two identities, one after the other, give."""
        if Gives.EQUAL in (self, other):
            return other if self is Gives.EQUAL else self
        return self if self is other else Gives.RANKING

    @property
    def weakness(self) -> int:
        return {Gives.EQUAL: 0, Gives.RANKING: 2}.get(self, 1)


@dataclass(frozen=True)
class ProblemFacts:
    """What identities ask of a problem; the default is what holds of every one.

    convex: it has one optimum, at which all training ends. linear: logits are linear in the parameters. classes: C, 0
    where unknown. stored_checkpoints: a trajectory visits checkpoints that training kept, whatever its η and `every`.
    """

    convex: bool = False
    linear: bool = False
    classes: int = 0
    stored_checkpoints: bool = False

    @classmethod
    def of(cls, problem: Problem | type[Problem], classes: int = 0) -> ProblemFacts:
        """Of a problem, or of a kind of problem with C classes."""
        return cls(problem.convex, problem.linear, problem.classes if isinstance(problem, Problem) else classes,
                   problem.stored_checkpoints)


EVERY_PROBLEM = ProblemFacts()


@dataclass(frozen=True)
class Identity:
    """read: scoring -> the one that it is read as, None where the identity says nothing of it. reason: a sentence."""

    name: str
    gives: Gives
    reason: str
    read: Callable[[Scoring, ProblemFacts], Scoring | None]


@dataclass(frozen=True)
class Relation:
    """What two scorings have in common, with the reasons."""

    gives: Gives
    reasons: tuple[str, ...] = ()

    def then(self, gives: Gives, reasons: tuple[str, ...]) -> Relation:
        return Relation(self.gives.then(gives), tuple(dict.fromkeys((*self.reasons, *reasons))))

    @property
    def order(self) -> tuple[int, int]:
        """Smaller for what says more, with fewer reasons."""
        return self.gives.weakness, len(self.reasons)


def relation(a: Scoring, b: Scoring, facts: ProblemFacts = EVERY_PROBLEM) -> Relation | None:
    """What A and B have in common on every problem of which `facts` are known; None where the table knows nothing."""
    if a == b:
        return Relation(Gives.EQUAL)
    left, right = _rewritten(a, facts), _rewritten(b, facts)
    relations = [left[form].then(right[form].gives, right[form].reasons) for form in left if form in right]
    return min(relations, key=lambda one: one.order, default=None)


@lru_cache(maxsize=4096)
def _rewritten(scoring: Scoring, facts: ProblemFacts) -> Mapping[Scoring, Relation]:
    """Everything that a scoring can be read as, itself included, with the strongest relation to it."""
    relations: dict[Scoring, Relation] = {scoring: Relation(Gives.EQUAL)}
    waiting = [scoring]
    while waiting:
        here = waiting.pop()
        elsewhere = parsed(here.estimator)[0] not in ESTIMATORS
        if elsewhere or not here.route.implies:  # which ask no question
            continue
        for identity in IDENTITIES:
            read = identity.read(here, facts)
            if read is None:
                continue
            reached = relations[here].then(identity.gives, (identity.reason,))
            if read not in relations or reached.order < relations[read].order:
                relations[read] = reached
                waiting.append(read)
    return relations


def _as(scoring: Scoring, **changed: Any) -> Scoring:
    fields = {name: getattr(scoring, name) for name in ("behavior", "intervention", "process", "estimator")}
    return Scoring(**{**fields, **changed})


def _by_gradient(scoring: Scoring) -> bool:
    """Whether the behavior enters by its gradient at one θ alone, as a factor of the score."""
    linear = scoring.process.derivative or (not scoring.exact and scoring.route.needs_gradient)
    at_one = scoring.process.one_model and STEPWISE not in scoring.departures
    return linear and at_one and not scoring.intervention.label_free


def _single_step(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    process = scoring.process
    if isinstance(process, Unrolled) and process.steps == 1:
        return _as(scoring, process=OneStep(eta=process.eta))
    return None


def _total_step(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    process = scoring.process
    if isinstance(process, Unrolled) and not scoring.exact and process.eta * process.steps <= LARGEST_STEP:
        return _as(scoring, process=OneStep(eta=process.eta * process.steps))
    return None


def _step_size(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    process, raised = scoring.process, scoring.intervention.label_free and scoring.behavior in RAISED.values()
    if isinstance(process, OneStep) and process.eta != 1 and (raised or _by_gradient(scoring)):
        return _as(scoring, process=OneStep(eta=1))
    return None


def _linear_logit(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    stepwise = isinstance(scoring.process, OneStep | Trajectory) and not scoring.intervention.label_free
    if facts.linear and scoring.exact and stepwise and scoring.behavior == "query_logit":
        return _as(scoring, estimator="first_order")
    return None


def _raised_logit(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    finite = scoring.exact or scoring.estimator == "cosine"
    if scoring.intervention.label_free and finite and scoring.behavior in RAISED:
        return _as(scoring, behavior=RAISED[scoring.behavior])
    return None


def _every(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    process = scoring.process
    if facts.stored_checkpoints and isinstance(process, Trajectory) and process.every != EVERY:
        return _as(scoring, process=process.model_copy(update={"every": EVERY}))
    return None


def _one_rate(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    process = scoring.process
    if facts.convex and facts.linear and isinstance(process, Trajectory) and process.weights != "recipe":
        return _as(scoring, process=process.model_copy(update={"weights": "recipe"}))
    return None


def _trajectory_size(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    process = scoring.process
    if facts.stored_checkpoints and isinstance(process, Trajectory) and not scoring.exact and process.eta != 1:
        return _as(scoring, process=process.model_copy(update={"eta": 1.0}))
    return None


def _own_recipe(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    process = scoring.process
    if not facts.stored_checkpoints or not isinstance(process, Replay):
        return None
    read = Replay().with_runs_of(process)
    return _as(scoring, process=read) if process != read else None


def _nothing_sampled(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    process = scoring.process
    if not facts.convex or not isinstance(process, Replay):
        return None
    read = process.with_runs_of(Replay())
    return _as(scoring, process=read) if process != read else None


def _one_optimum(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    if facts.convex and scoring.exact and isinstance(scoring.process, Retrain):
        return _as(scoring, process=Reoptimize())
    return None


def _linear_retraining(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    process = scoring.process
    if isinstance(scoring.route, InfluenceFunction) and isinstance(process, LocalSearch | Retrain):
        return _as(scoring, process=Reoptimize(damping=process.damping))
    return None


def _no_drift(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    return _factual(scoring) if facts.convex or not scoring.exact else None


def _drift(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    return _factual(scoring) if scoring.exact else None


def _factual(scoring: Scoring) -> Scoring | None:
    process = scoring.process
    if isinstance(process, Reoptimize | LocalSearch) and process.baseline != "factual":
        return _as(scoring, process=process.model_copy(update={"baseline": "factual"}))
    return None


def _one_rival(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    return _as(scoring, behavior="soft_margin") if facts.classes == 2 and scoring.behavior == "hard_margin" else None


def _half_margin(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    opposite = facts.convex and facts.linear and facts.classes == 2 and not scoring.intervention.label_free
    answered = scoring.exact or scoring.estimator == "first_order"
    return _as(scoring, behavior="soft_margin") if (
        opposite and answered and scoring.behavior == "query_logit") else None


def _increasing(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    finite = scoring.exact or (scoring.intervention.label_free and scoring.estimator == "cosine")
    if scoring.behavior in ("query_loss", "probability") and finite and scoring.process.one_model:
        return _as(scoring, behavior="soft_margin")
    return None


def _increasing_gradient(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    if scoring.behavior in ("query_loss", "probability") and _by_gradient(scoring):
        return _as(scoring, behavior="soft_margin")
    return None


def _linear_weight(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    held_out = isinstance(scoring.intervention, Remove) and scoring.intervention.normalization == "n"
    if isinstance(scoring.intervention, Upweight) or (held_out and _factorised(scoring)):
        return _rate(scoring)
    return None


def _linear_removal(scoring: Scoring, facts: ProblemFacts) -> Scoring | None:
    return _rate(scoring) if isinstance(scoring.intervention, Remove) and _factorised(scoring) else None


def _factorised(scoring: Scoring) -> bool:
    return isinstance(scoring.route, InfluenceFunction) and scoring.route.solver.exact


def _rate(scoring: Scoring) -> Scoring | None:
    """The infinitesimal weight under the local response, by the same solver."""
    if not (isinstance(scoring.route, InfluenceFunction) and isinstance(scoring.process, Reoptimize)):
        return None
    return _as(scoring, intervention=Infinitesimal(), process=LocalResponse(damping=scoring.process.damping),
               estimator="exact" if scoring.route.solver.exact else scoring.estimator)


_INCREASING = ("log-likelihood (minus the query loss), probability and soft margin are increasing functions of each "
               "other, so every process that ends at one model ranks training examples the same under them "
               "(Proposition 1)")

IDENTITIES = (
    Identity("single step", Gives.EQUAL, "one unrolled step is one step", _single_step),
    Identity("total step", Gives.EQUAL, "to first order several steps are one step of their total size", _total_step),
    Identity("step size", Gives.PROPORTIONAL, "the step size only scales such a score", _step_size),
    Identity("linear logit", Gives.EQUAL, "logits of this model are linear in the parameters, so the first-order term "
             "of a step is the whole step", _linear_logit),
    Identity("raised logit", Gives.EQUAL, "the auxiliary step raises the logit of the query's label or answer and no "
             "other, so logit and margins rise by the same amount", _raised_logit),
    Identity("kept checkpoints", Gives.EQUAL, "the trajectory of this model visits the checkpoints that its "
             "training stored, whatever the number of steps between them", _every),
    Identity("one rate", Gives.EQUAL, "this model trains with one learning rate, whatever weight a checkpoint is "
             "given", _one_rate),
    Identity("trajectory's step size", Gives.PROPORTIONAL, "the checkpoints are those that training stored, and to "
             "first order the step size is only a factor", _trajectory_size),
    Identity("own recipe", Gives.EQUAL, "this model repeats the recipe that it was trained by, whatever the η and the "
             "number of steps that are written down", _own_recipe),
    Identity("nothing drawn", Gives.EQUAL, "this model trains from zero on all examples, so no seed enters its "
             "training", _nothing_sampled),
    Identity("one optimum", Gives.EQUAL, "the objective has one optimum, at which re-optimising and training from "
             "scratch both end, whatever the seed", _one_optimum),
    Identity("linear retraining", Gives.EQUAL, "the linear response is that of the optimum, whether it is reached "
             "by re-optimising, a local search or retraining", _linear_retraining),
    Identity("no drift", Gives.EQUAL, "without a change nothing moves: the model is at its optimum, or its response is "
             "linear", _no_drift),
    Identity("drift", Gives.SHIFTED, "the baseline is one number per query, the same for every training "
                                     "example", _drift),
    Identity("one rival", Gives.EQUAL, "with two classes there is one rival, so the soft margin equals the hard "
             "margin", _one_rival),
    Identity("half margin", Gives.PROPORTIONAL, "with two classes the two logits of this model move by opposite "
             "amounts, so the logit moves by half the margin", _half_margin),
    Identity("increasing behavior", Gives.RANKING, _INCREASING, _increasing),
    Identity("increasing behavior, to first order", Gives.PROPORTIONAL, _INCREASING, _increasing_gradient),
    Identity("linear weight", Gives.PROPORTIONAL, "a linear response scales with the weight of the example",
             _linear_weight),
    Identity("linear removal", Gives.RANKING, "the linear response to removal is that to a weight, times a factor, "
             "plus a constant per query", _linear_removal),
)
"""Every identity there is; a new one is a line here, with a test on problems where it holds."""
