r"""How an exact answer is known: whether it may be the reference by which another one is judged.

An answer is known to be right where its own error is bounded:

- *as defined*: its process is finite and was carried out. Steps, a trajectory, a training repeated from given seeds and
  the derivative of one are what was asked for, but for rounding.
- *solved*: it is an optimum, and the gradient there is small where the objective curves upwards. With a penalty λ and a
  damping δ on every parameter of a convex objective, ‖θ̂ − θ*‖ ≤ ‖∇F(θ̂)‖ / (λ + δ). Of a network, no direction
  of negative curvature was met where the search ended (`engine.exact.newton_cg`). A linear system is solved to a
  relative residual, and its matrix is positive definite.

Else it is *a search*, and neither of two answers that differ is known to be right. Some iterations of L-BFGS are a
process of their own, carried out as defined; an inverse Hessian however answers for the optimum, so that for judging it
they are a search, unless the gradient says that they ended at one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import ceil, floor, inf, log10

from engine.estimators.influence_function import InfluenceFunction
from engine.exact.local_search import FRACTION_LEFT
from engine.exact.replay import STEEPNESS
from engine.exact.tolerance import FRACTION_OF_FORCE
from engine.question.processes import LocalSearch, Process, Reoptimize
from engine.scoring.convergence import Convergence
from engine.scoring.identities import ProblemFacts
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

STABLE = 2.0
"""η times an eigenvalue of the Hessian above which steps of descent grow along its eigenvector."""


class How(Enum):
    """In what way an exact answer is known."""

    DEFINED = "carried out as defined"
    SOLVED = "solved to a bound"
    SEARCH = "a search"
    UNMEASURED = "not computed yet"


@dataclass(frozen=True)
class SolveEvidence:
    """What computing an answer showed. curvature: λ + δ, by which a convex objective curves upwards at least; 0 where
    some parameter has no penalty."""

    convergence: Convergence
    curvature: float = 0.0

    @classmethod
    def of(cls, seeds: Sequence[Scores]) -> SolveEvidence:
        """Of one scoring on every seed."""
        first, process = seeds[0].provenance, seeds[0].scoring.process
        own = 0.0 if first.get("intercept") else first.get("l2", 0.0)
        penalty = min(own.values()) if isinstance(own, Mapping) else own
        damping = process.damping if isinstance(process, Reoptimize | LocalSearch) else 0.0
        return cls(Convergence.joined([scores.convergence for scores in seeds]), penalty and penalty + damping)


@dataclass(frozen=True)
class Standing:
    """how: in what way an answer is known. why: a clause on that. bound: on ‖θ̂ − θ*‖, NaN where there is none."""

    how: How
    why: str
    bound: float = float("nan")

    @property
    def trusted(self) -> bool:
        """Whether it is known to be right, but for a bounded error."""
        return self.how in (How.DEFINED, How.SOLVED)


def standing(scoring: Scoring, facts: ProblemFacts, evidence: SolveEvidence | None = None,
             judged: Scoring | None = None) -> Standing:
    """How the exact answer `scoring` is known, as the reference for `judged`, or by itself.

    facts: of the problem. evidence: what computing it showed; without it, an optimum of which the problem has one is
    taken for solved, because a candidate that misses its tolerance is left out wherever scores are compared.
    """
    process = scoring.process
    if isinstance(process, LocalSearch):
        return _searched(process, facts, evidence, judged)
    if process.optimum and (facts.convex or not process.random):
        return _optimum(facts, evidence)
    if process.linear and process.derivative:
        return _linear(facts, evidence)
    return _defined(process)


def unstable(convergence: Convergence) -> tuple[str, ...]:
    """A sentence where a descent is known to be unstable; none of any other answer."""
    steepness = convergence.facts.get(STEEPNESS, 0.0)
    if steepness <= STABLE:
        return ()
    return ("This training descends with steps that are too large to be stable at its start: η times the largest "
            f"eigenvalue of the Hessian is {steepness:.3g} there, above 2, so that a small change grows from step to "
            "step. `linear-range` measures how well its derivative predicts retraining.",)


def _defined(process: Process) -> Standing:
    return Standing(How.DEFINED, f"it carries out {process.title} as defined, correct up to rounding")


def _optimum(facts: ProblemFacts, evidence: SolveEvidence | None) -> Standing:
    if evidence is None:
        return Standing(How.SOLVED, "the objective has one optimum, and candidates that miss the tolerance there are "
                                    "left out"
                        ) if facts.convex else Standing(How.UNMEASURED, "whether its search ends at an optimum")
    seen = evidence.convergence
    if not seen.reached:
        return Standing(How.SEARCH, f"its search ended at no optimum (gradient norm up to {up(seen.largest):.1e})")
    if facts.convex:
        return _at_the_one_optimum(evidence, f"the gradient norm at the one optimum is {_most(seen)}")
    return Standing(How.SOLVED, f"the gradient norm where its search ended is {_most(seen)}, at most a millionth of "
                    "the force of the intervention, and no direction of negative curvature was met there")


def _most(convergence: Convergence) -> str:
    """The largest residual, or the tolerance that all which are left have met."""
    if convergence.reached == convergence.of:
        return f"{up(convergence.largest):.1e} at most"
    return (f"within the tolerance for {convergence.reached:,} of {convergence.of:,} candidates, the others being "
            "left out")


def _at_the_one_optimum(evidence: SolveEvidence, gradient: str) -> Standing:
    seen = evidence.convergence
    if not evidence.curvature or seen.reached < seen.of:
        return Standing(How.SOLVED, gradient)
    bound = seen.largest / evidence.curvature
    return Standing(How.SOLVED, f"{gradient}, so its parameters are within {up(bound):.1e} of it", bound)


def _linear(facts: ProblemFacts, evidence: SolveEvidence | None) -> Standing:
    if evidence is None:
        return Standing(How.SOLVED, "its linear system is positive definite and solved by a factorisation"
                        ) if facts.convex else Standing(How.UNMEASURED, "whether the Hessian plus damping is positive "
                                                        "definite")
    seen = evidence.convergence
    if seen.indefinite:
        return Standing(How.SEARCH, "the Hessian plus damping is not positive definite, so the solution of the linear "
                        "system is not how an optimum moves")
    if not seen.reached:
        return Standing(How.SEARCH, f"its linear system is left with a relative residual of {up(seen.largest):.1e}")
    return Standing(How.SOLVED, f"its linear system is positive definite and solved to a relative residual of "
                    f"{up(seen.largest):.1e}")


def _searched(process: LocalSearch, facts: ProblemFacts, evidence: SolveEvidence | None, judged: Scoring | None
              ) -> Standing:
    if judged is None or not isinstance(judged.route, InfluenceFunction):
        return _defined(process)
    if evidence is None or FRACTION_LEFT not in evidence.convergence.facts:
        return Standing(How.SEARCH, f"{process.title} end wherever they end, at an unknown distance from an optimum")
    left = evidence.convergence.facts[FRACTION_LEFT]
    if left <= FRACTION_OF_FORCE and facts.convex:
        return _at_the_one_optimum(evidence, f"{process.title} end where the gradient is {up(left):.1e} of the force "
                                   "of the intervention at most")
    return Standing(How.SEARCH, f"{process.title} end where the gradient is up to {_times(left)} the force of the "
                    "intervention, at an unknown distance from an optimum")


def _times(ratio: float) -> str:
    factor = up(ratio)
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:.2g} times" if factor >= 1 else f"{factor:.2g} of"


def up(value: float) -> float:
    """Rounded up to two digits, so that what is said to be at most so much is."""
    if not 0 < value < inf:
        return value
    unit = 10.0 ** (floor(log10(value)) - 1)
    return float(f"{ceil(round(value / unit, 9)) * unit:.1e}")
